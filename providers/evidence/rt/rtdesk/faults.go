package rtdesk

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// Trouble is a way in which the desk answers every API request wrongly.
type Trouble string

// The troubles.
const (
	TroubleNone         Trouble = ""
	TroubleRateLimited  Trouble = "429"           // with Retry-After: 7
	TroubleServerError  Trouble = "500"           // with an HTML page
	TroubleGone         Trouble = "410"           // the API was retired
	TroubleNotFound     Trouble = "404"           // the API's address leads nowhere
	TroubleForbidden    Trouble = "403"           // all rights were taken away
	TroubleUnauthorized Trouble = "401"           // the token was withdrawn
	TroubleIgnoreFilter Trouble = "ignore_filter" // searches give every ticket
	TroubleHang         Trouble = "hang"          // no answer until the client gives up
	TroubleHuge         Trouble = "huge"          // 100 MB
	TroubleRedirect     Trouble = "redirect"      // to Faults.RedirectTo
	TroubleErrorIn200   Trouble = "error_200"     // status 200 with an error for a body
	TroubleHTML         Trouble = "html"          // status 200 with a login page
	TroubleGarbage      Trouble = "garbage"       // bytes that are no HTTP answer's body
)

// Faults is what the desk plays. The zero value plays nothing.
type Faults struct {
	// DuplicateOnCreate makes two tickets of each create request.
	DuplicateOnCreate bool
	// DropAfterCreate makes the ticket, then cuts the connection instead of
	// answering.
	DropAfterCreate bool
	// Lag is how long searches leave a new ticket out.
	Lag time.Duration
	// HoldBackTotals leaves totals out of lists, as RT does where it held rows back.
	HoldBackTotals bool
	// Trouble is how API requests fail; people's pages go on working.
	Trouble    Trouble
	RedirectTo string
}

// SetFaults replaces the faults.
func (d *Desk) SetFaults(f Faults) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = f
}

func (d *Desk) currentFaults() Faults {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.faults
}

// hugeSize is the length of the huge answer.
const hugeSize = 100 << 20

// play answers in place of the API and reports whether it did.
func play(w http.ResponseWriter, r *http.Request, f Faults) bool {
	switch f.Trouble {
	case TroubleRateLimited:
		w.Header().Set("Retry-After", "7")
		message(w, http.StatusTooManyRequests, "Too Many Requests")
	case TroubleServerError:
		html(w, http.StatusInternalServerError, "<h1>Internal Server Error</h1>")
	case TroubleGone:
		html(w, http.StatusGone, "<h1>Gone</h1>")
	case TroubleNotFound:
		html(w, http.StatusNotFound, "<h1>Not Found</h1>")
	case TroubleForbidden:
		message(w, http.StatusForbidden, "Forbidden")
	case TroubleUnauthorized:
		message(w, http.StatusUnauthorized, "Unauthorized")
	case TroubleHang:
		<-r.Context().Done()
	case TroubleHuge:
		huge(w)
	case TroubleRedirect:
		http.Redirect(w, r, f.RedirectTo, http.StatusFound)
	case TroubleErrorIn200:
		message(w, http.StatusOK, "An internal error has occurred")
	case TroubleHTML:
		html(w, http.StatusOK, "<form>Login</form>")
	case TroubleGarbage:
		w.Header().Set("Content-Type", jsonType)
		_, _ = io.WriteString(w, "\x00\xff{]") // the client may be gone
	default:
		return false
	}
	return true
}

func huge(w http.ResponseWriter) {
	w.Header().Set("Content-Type", jsonType)
	if _, err := io.WriteString(w, `{"items":[],"padding":"`); err != nil {
		return
	}
	chunk := strings.Repeat("x", 64<<10)
	for range hugeSize / len(chunk) {
		if _, err := io.WriteString(w, chunk); err != nil {
			return // the client had enough
		}
	}
}

func html(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, "<!doctype html>"+body) // the client may be gone
}
