package jirafake

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// Trouble is how API requests fail.
type Trouble string

// The troubles.
const (
	TroubleNone        Trouble = ""
	TroubleRateLimited Trouble = "429"           // with Retry-After: 12
	TroubleLimitReset  Trouble = "429 and reset" // with X-RateLimit-Reset alone, an hour from now
	TroubleServerError Trouble = "500"
	TroubleOverload    Trouble = "503" // with Retry-After: 30
	TroubleNotFound    Trouble = "404"
	TroubleGone        Trouble = "410"
	TroubleForbidden   Trouble = "403"
	TroubleRevoked     Trouble = "401"
	TroubleBadRequest  Trouble = "400"
	TroubleHang        Trouble = "hang"
	TroubleHuge        Trouble = "huge"
	TroubleRedirect    Trouble = "redirect"
	TroubleHTML        Trouble = "html"
	TroubleGarbage     Trouble = "garbage"
	TroubleNull        Trouble = "null"
	TroubleErrorIn200  Trouble = "error_200"
)

// Faults is what the site plays. The zero value plays nothing.
type Faults struct {
	Trouble    Trouble
	Only       string // the trouble is for paths that hold this
	RedirectTo string

	SearchLag    time.Duration // how long the search does not know a new issue
	IgnoreFilter bool          // the search ignores its query
	Circle       bool          // the search names the same next page for ever
	PageSize     int           // smaller pages than asked for
	EmptyPages   bool          // a page without issues comes before the others
	NoIsLast     bool          // isLast is left out, as it was at first
}

// SetFaults replaces the faults.
func (s *Site) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

const hugeSize = 100 << 20

// play answers in place of the API and reports whether it did.
func play(w http.ResponseWriter, r *http.Request, f Faults) bool {
	text := func(kind, body string) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body) // the client may be gone
	}
	switch f.Trouble {
	case TroubleRateLimited:
		w.Header().Set("Retry-After", "12")
		http.Error(w, "Rate limit exceeded.", http.StatusTooManyRequests)
	case TroubleLimitReset:
		w.Header().Set("X-RateLimit-Reset", time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04Z"))
		http.Error(w, "", http.StatusTooManyRequests)
	case TroubleServerError:
		fail(w, http.StatusInternalServerError, "Internal server error")
	case TroubleOverload:
		w.Header().Set("Retry-After", "30")
		http.Error(w, "", http.StatusServiceUnavailable)
	case TroubleNotFound:
		fail(w, http.StatusNotFound, "null for uri")
	case TroubleGone:
		fail(w, http.StatusGone, "The requested API has been removed. Please migrate to the /rest/api/3/search/jql API.")
	case TroubleForbidden:
		fail(w, http.StatusForbidden, "scope does not match")
	case TroubleRevoked:
		fail(w, http.StatusUnauthorized, "Client must be authenticated: "+r.Header.Get("Authorization"))
	case TroubleBadRequest:
		fail(w, http.StatusBadRequest, "Field 'labels' does not exist or you do not have permission to view it.")
	case TroubleHang:
		<-r.Context().Done()
	case TroubleHuge:
		huge(w)
	case TroubleRedirect:
		http.Redirect(w, r, f.RedirectTo, http.StatusFound)
	case TroubleHTML:
		text("text/html", "<!doctype html><h1>Your Atlassian Cloud site is currently unavailable.</h1>")
	case TroubleGarbage:
		text("application/json", "\x00\xff{]")
	case TroubleNull:
		text("application/json", "null")
	case TroubleErrorIn200:
		text("application/json", `{"errorMessages":["no"],"errors":{}}`)
	default:
		return false
	}
	return true
}

func huge(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	if _, err := io.WriteString(w, `{"issues":[],"isLast":true,"padding":"`); err != nil {
		return
	}
	chunk := strings.Repeat("x", 64<<10)
	for range hugeSize / len(chunk) {
		if _, err := io.WriteString(w, chunk); err != nil {
			return // the client had enough
		}
	}
}
