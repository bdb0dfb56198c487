package wire

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
)

// maxMillis keeps a number of milliseconds inside time.Duration.
const maxMillis = math.MaxInt64 / int64(time.Millisecond)

// span is a duration in a request. It remembers that it could not be read, as
// only the form around it knows the member's name.
type span struct {
	d   time.Duration
	bad bool
}

// MarshalJSON writes the Go form, which loses nothing.
func (s span) MarshalJSON() ([]byte, error) { return json.Marshal(s.d.String()) }

// IsZero lets omitzero leave an unset duration out.
func (s span) IsZero() bool { return s.d == 0 && !s.bad }

// UnmarshalJSON reads whole milliseconds or a Go duration string; null is none.
func (s *span) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	switch {
	case text == "null":
		return nil
	case strings.HasPrefix(text, `"`):
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
		d, err := time.ParseDuration(text)
		s.d, s.bad = d, err != nil
	default:
		s.d, s.bad = millis(text)
	}
	return nil
}

func millis(text string) (d time.Duration, bad bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > maxMillis || n < -maxMillis {
		return 0, true
	}
	return time.Duration(n) * time.Millisecond, false
}

func (s span) get(field string) (time.Duration, error) {
	if s.bad {
		return 0, badSpan(field)
	}
	return s.d, nil
}

func badSpan(field string) error {
	return &journal.InvalidError{Field: field, Detail: `must be whole milliseconds, or a duration like "30s"`}
}

// ParseSpan reads a duration of a query: whole milliseconds or a Go duration
// string. The error is a *journal.InvalidError naming field.
func ParseSpan(field, text string) (time.Duration, error) {
	if d, bad := millis(text); !bad {
		return d, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, badSpan(field)
	}
	return d, nil
}

// floorMS is for what remains: never more than there is.
func floorMS(d time.Duration) int64 {
	n := int64(d / time.Millisecond)
	if d < 0 && d%time.Millisecond != 0 {
		n--
	}
	return n
}

// ceilMS is for what must be waited, and for what must not turn into "none".
func ceilMS(d time.Duration) int64 { return -floorMS(-d) }

func fromMS(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
