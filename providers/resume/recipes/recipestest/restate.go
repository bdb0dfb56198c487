package recipestest

import (
	"net/http"
	"strings"

	"github.com/landedhq/landed/journal"
)

// restateAwakeable follows restatedev/restate, crates/ingress-http/src/handler and
// crates/worker/src/partition/state_machine at 0c6df0fc, behind a proxy that wants
// a bearer. The invocation has its awakeable before it awaits it; what comes in
// between is in the journal, and its handle completes once.
func restateAwakeable() Dialect {
	const token = "proxy-token-0123456789"
	return Dialect{
		Recipe: "restate.awakeable", Paths: []string{"/restate/awakeables/*/resolve"}, Early: Kept, Ended: journal.HandoverAccepted, Unknown: journal.HandoverAccepted,
		Params:  func(url string) map[string]string { return map[string]string{"url": url} },
		Secrets: map[string]string{"token": token},
		Address: func(effect string) map[string]any { return object{"awakeable": "sign_1" + effect} },
		New: func(f *Fake) http.Handler {
			mux := http.NewServeMux()
			mux.HandleFunc("POST /restate/awakeables/{id}/resolve", f.awakeable)
			mux.HandleFunc("GET /restate/health", func(w http.ResponseWriter, _ *http.Request) {
				answer(w, http.StatusOK, "application/json", object{"services": []string{"Orders"}})
			})
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer "+token {
					http.Error(w, "unauthorized", http.StatusUnauthorized)
					return
				}
				mux.ServeHTTP(w, r)
			})
		},
	}
}

func (f *Fake) awakeable(w http.ResponseWriter, r *http.Request) {
	effect, ok := strings.CutPrefix(r.PathValue("id"), "sign_1")
	if !ok {
		w.Header().Set("X-Restate-Error-Source", "ingress")
		answer(w, http.StatusBadRequest, "application/json", object{"code": 400, "message": "bad awakeable id '" + r.PathValue("id") + "': bad format", "source": "ingress"})
		return
	}
	var m message
	_ = read(r, &m) // any bytes are a value
	f.with(effect, func(run *run) {
		if run.begun && len(run.seen) == 0 && len(run.kept) == 0 { // the handle completes once
			run.keep(m.Data.ResolutionID)
		}
	})
	w.WriteHeader(http.StatusAccepted)
}
