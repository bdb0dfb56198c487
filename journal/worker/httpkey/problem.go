package httpkey

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Code is the stable name of an answer that this package gives itself.
type Code string

// The codes. Their statuses are in the package's documentation.
const (
	CodeKeyMissing    Code = "key_missing"
	CodeKeyInvalid    Code = "key_invalid"
	CodeClientUnknown Code = "client_unknown"
	CodeInvalid       Code = "invalid"
	CodeTooLarge      Code = "too_large"
	CodeKeyReused     Code = "key_reused"
	CodeInProgress    Code = "in_progress"
	CodeRetryLater    Code = "retry_later"
	CodeVerifying     Code = "verifying"
	CodeUnknown       Code = "outcome_unknown"
	CodeAbandoned     Code = "closed_not_landed"
	CodeExpired       Code = "expired"
	CodeNotSent       Code = "not_sent"
	CodeRepeating     Code = "outcome_unknown_repeating"
	CodeGaveUp        Code = "gave_up"
	CodeUnavailable   Code = "journal_unavailable"
	CodeRestored      Code = "journal_restored"
	CodeAnswerLost    Code = "answer_not_kept"
	CodeRefused       Code = "refused"
	CodeUnreachable   Code = "upstream_unreachable"
)

// problem is an answer in RFC 9457's form.
type problem struct {
	Type       string   `json:"type"`
	Title      string   `json:"title"`
	Status     int      `json:"status"`
	Detail     string   `json:"detail"`
	Code       Code     `json:"code"`
	EffectID   string   `json:"effect_id,omitempty"`
	Desk       string   `json:"desk,omitempty"`          // the page where people see and decide it
	RetryAfter int      `json:"retry_after_s,omitempty"` // the same as the header
	ProviderID string   `json:"provider_id,omitempty"`   // what the upstream called what it made
	SettledBy  string   `json:"settled_by,omitempty"`    // who settled it, if not the first answer
	Fields     []string `json:"fields,omitempty"`        // key_reused: what differs
	Executed   *bool    `json:"executed,omitempty"`      // whether the effect happened, where that is known
	AnswerSize int64    `json:"answer_bytes,omitempty"`  // answer_not_kept: how large it was
	Was        int      `json:"answer_status,omitempty"` // answer_not_kept: its status
	wait       time.Duration
}

// write sends p. docs, if set, is where the convention is explained.
func (p problem) write(w http.ResponseWriter, docs string) {
	h := w.Header()
	p.Type = "about:blank"
	if docs != "" {
		p.Type = docs
		h.Set("Link", "<"+docs+`>; rel="describedby"`)
	}
	if p.wait > 0 {
		p.RetryAfter = seconds(p.wait)
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Language", "en")
	h.Set("Cache-Control", "no-store")
	body, err := json.Marshal(p)
	if err != nil { // strings and numbers only
		body = nil
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.Status)
	_, _ = w.Write(body)
}

// seconds rounds up: asking too early costs a refusal.
func seconds(d time.Duration) int { return max(1, int(math.Ceil(d.Seconds()))) }

// about fills in where people find an effect.
func (g *guard) about(p problem, effectID string) problem {
	p.EffectID = effectID
	if g.deskURL != "" && effectID != "" {
		p.Desk = strings.TrimRight(g.deskURL, "/") + "/e/" + effectID
	}
	return p
}
