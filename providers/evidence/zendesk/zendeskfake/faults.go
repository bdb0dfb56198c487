package zendeskfake

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
	TroubleRateLimited Trouble = "429"           // with Retry-After: 41
	TroubleLimitReset  Trouble = "429 and reset" // with ratelimit-reset: 17 alone
	TroubleServerError Trouble = "500"
	TroubleMaintenance Trouble = "503"
	TroubleNotFound    Trouble = "404"
	TroubleGone        Trouble = "410"
	TroubleForbidden   Trouble = "403"
	TroubleRevoked     Trouble = "401"
	TroubleHang        Trouble = "hang"
	TroubleHuge        Trouble = "huge"
	TroubleRedirect    Trouble = "redirect"
	TroubleHTML        Trouble = "html"
	TroubleGarbage     Trouble = "garbage"
	TroubleNull        Trouble = "null"
	TroubleErrorIn200  Trouble = "error_200"
)

// Faults is what the account plays. The zero value plays nothing.
type Faults struct {
	Trouble    Trouble
	Only       string // the trouble is for paths that hold this
	RedirectTo string

	ListLag      time.Duration // how long a new ticket is in no list
	SearchLag    time.Duration // how long search does not know it
	IgnoreFilter bool          // lists ignore external_id
	SamePage     bool          // every page is the first one, and there is always more
	NoCursor     bool          // lists of tickets are paged by number, whatever is asked for
	IgnoreSort   bool          // lists of deleted and suspended tickets come oldest first
	PageSize     int           // smaller pages than asked for
}

// SetFaults replaces the faults.
func (a *Account) SetFaults(f Faults) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = f
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
		w.Header().Set("Retry-After", "41")
		http.Error(w, "Number of allowed API requests per minute exceeded", http.StatusTooManyRequests)
	case TroubleLimitReset:
		w.Header().Set("Ratelimit-Reset", "17")
		http.Error(w, "", http.StatusTooManyRequests)
	case TroubleServerError:
		fail(w, http.StatusInternalServerError, "InternalError", "")
	case TroubleMaintenance:
		w.Header().Set("Retry-After", "300")
		http.Error(w, "maintenance", http.StatusServiceUnavailable)
	case TroubleNotFound:
		fail(w, http.StatusNotFound, "InvalidEndpoint", "Not found")
	case TroubleGone:
		fail(w, http.StatusGone, "EndpointRemoved", "")
	case TroubleForbidden:
		fail(w, http.StatusForbidden, "Forbidden", "You are missing the following required scopes: read")
	case TroubleRevoked:
		fail(w, http.StatusUnauthorized, "invalid_token", "The access token provided is expired: "+r.Header.Get("Authorization"))
	case TroubleHang:
		_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the client left
		<-r.Context().Done()
	case TroubleHuge:
		huge(w)
	case TroubleRedirect:
		http.Redirect(w, r, f.RedirectTo, http.StatusFound)
	case TroubleHTML:
		text("text/html", "<!doctype html><h1>Help Center Closed</h1>")
	case TroubleGarbage:
		text("application/json", "\x00\xff{]")
	case TroubleNull:
		text("application/json", "null")
	case TroubleErrorIn200:
		text("application/json", `{"error":"Unavailable","description":"no"}`)
	default:
		return false
	}
	return true
}

func huge(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	if _, err := io.WriteString(w, `{"tickets":[],"meta":{"has_more":false},"padding":"`); err != nil {
		return
	}
	chunk := strings.Repeat("x", 64<<10)
	for range hugeSize / len(chunk) {
		if _, err := io.WriteString(w, chunk); err != nil {
			return // the client had enough
		}
	}
}
