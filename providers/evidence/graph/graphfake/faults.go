package graphfake

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
)

const hugeSize = 100 << 20

// play answers in place of the mailbox and reports whether it did.
func play(w http.ResponseWriter, r *http.Request, f Faults) bool {
	text := func(kind, body string) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body) // the client may be gone
	}
	code, reason, _ := strings.Cut(string(f.Trouble), " ")
	if n, err := strconv.Atoi(code); err == nil {
		if f.Trouble == TroubleRateLimited {
			w.Header().Set("Retry-After", "7")
		}
		fail(w, n, reason)
		return true
	}
	switch f.Trouble {
	case TroubleHang:
		_, _ = io.Copy(io.Discard, r.Body) // only then is the client's leaving noticed
		<-r.Context().Done()
	case TroubleHuge:
		w.Header().Set("Content-Type", "application/json")
		chunk := strings.Repeat(" ", 64<<10)
		for range hugeSize / len(chunk) {
			if _, err := io.WriteString(w, chunk); err != nil {
				return true // the client had enough
			}
		}
	case TroubleRedirect:
		http.Redirect(w, r, f.RedirectTo, http.StatusTemporaryRedirect)
	case TroubleHTML:
		text("text/html", "<!doctype html><form>Login</form>")
	case TroubleGarbage:
		text("application/json", "\x00\xff{]")
	case TroubleNull:
		text("application/json", "null")
	default:
		return false
	}
	return true
}

func write(w http.ResponseWriter, code int, v obj) {
	w.Header().Set("Content-Type", "application/json;odata.metadata=minimal;odata.streaming=true;charset=utf-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// fail answers as Graph does.
func fail(w http.ResponseWriter, code int, reason string) {
	write(w, code, obj{"error": obj{"code": reason, "message": "no", "innerError": obj{"request-id": "1"}}})
}
