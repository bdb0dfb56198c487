package stripefake

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
	TroubleRateLimited Trouble = "429"          // with Retry-After: 7
	TroubleLocked      Trouble = "lock_timeout" // 429 with that code
	TroubleConflict    Trouble = "409"
	TroubleServerError Trouble = "500"
	TroubleNotFound    Trouble = "404" // the address leads nowhere
	TroubleForbidden   Trouble = "403"
	TroubleKeyRevoked  Trouble = "401"
	TroubleHang        Trouble = "hang"
	TroubleHuge        Trouble = "huge" // 100 MB
	TroubleRedirect    Trouble = "redirect"
	TroubleErrorIn200  Trouble = "error_200"
	TroubleHTML        Trouble = "html"
	TroubleGarbage     Trouble = "garbage"
	TroubleNull        Trouble = "null" // status 200 and JSON null
)

// Faults is what the account plays. The zero value plays nothing.
type Faults struct {
	Trouble    Trouble
	Only       string // the trouble is for paths that hold this
	RedirectTo string

	ListLag      time.Duration // how long a new object is in no list
	SearchLag    time.Duration // how long it is not found by search
	StaleSearch  bool          // search gives objects that do not match
	NoSearch     bool          // search is refused
	IgnoreFilter bool          // lists ignore created
	SamePage     bool          // every page is the first one, and there is always more
	MixModes     bool          // objects of both modes are visible
}

// SetFaults replaces the faults.
func (a *Account) SetFaults(f Faults) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = f
}

func (a *Account) currentFaults() Faults {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.faults
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
		w.Header().Set("Retry-After", "7")
		fail(w, http.StatusTooManyRequests, "rate_limit", "Too many requests.")
	case TroubleLocked:
		fail(w, http.StatusTooManyRequests, "lock_timeout", "This object cannot be accessed right now.")
	case TroubleConflict:
		fail(w, http.StatusConflict, "idempotency_key_in_use", "Another request is under way.")
	case TroubleServerError:
		fail(w, http.StatusInternalServerError, "", "Something went wrong on our end.")
	case TroubleNotFound:
		fail(w, http.StatusNotFound, "", "Unrecognized request URL.")
	case TroubleForbidden:
		fail(w, http.StatusForbidden, "", "The provided key does not have the required permissions.")
	case TroubleKeyRevoked:
		fail(w, http.StatusUnauthorized, "api_key_expired", "Expired API key provided: "+r.Header.Get("Authorization"))
	case TroubleHang:
		<-r.Context().Done()
	case TroubleHuge:
		huge(w)
	case TroubleRedirect:
		http.Redirect(w, r, f.RedirectTo, http.StatusFound)
	case TroubleErrorIn200:
		text("application/json", `{"error":{"type":"api_error","message":"no"}}`)
	case TroubleHTML:
		text("text/html", "<!doctype html><h1>Proxy</h1>")
	case TroubleGarbage:
		text("application/json", "\x00\xff{]")
	case TroubleNull:
		text("application/json", "null")
	default:
		return false
	}
	return true
}

func huge(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	if _, err := io.WriteString(w, `{"object":"list","data":[],"has_more":false,"padding":"`); err != nil {
		return
	}
	chunk := strings.Repeat("x", 64<<10)
	for range hugeSize / len(chunk) {
		if _, err := io.WriteString(w, chunk); err != nil {
			return // the client had enough
		}
	}
}
