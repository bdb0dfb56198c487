package wire

import (
	"encoding/json"

	"github.com/landedhq/landed/journal"
)

// Feed is one page of the decision feed. Cursor is where the next page starts.
type Feed struct {
	Decisions []journal.Resolution `json:"decisions"`
	Cursor    int64                `json:"cursor"`
}

// NewFeed makes the page that follows after.
func NewFeed(rows []journal.Resolution, after int64) Feed {
	f := Feed{Decisions: rows, Cursor: after}
	if n := len(rows); n > 0 {
		f.Cursor = rows[n-1].Cursor
	} else {
		f.Decisions = []journal.Resolution{}
	}
	return f
}

// DecodeResolution reads one resolution.
func DecodeResolution(body []byte) (*journal.Resolution, error) {
	var r journal.Resolution
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	return &r, nil
}
