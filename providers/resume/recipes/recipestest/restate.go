package recipestest

import (
	"net/http"
	"strings"
	"sync"

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
			return f.ingress(token, "POST /restate/awakeables/{id}/resolve", f.awakeable)
		},
	}
}

// restateHandler follows service_handler.rs of the same: an idempotency key makes
// a repeat the same invocation. The handler completes the promise of the run.
func restateHandler() Dialect {
	const token = "proxy-token-0123456789"
	d := restateAwakeable()
	d.Recipe, d.Paths = "restate.handler", []string{"/Order/*/resolution/send"}
	d.Params = func(url string) map[string]string { return map[string]string{"url": url, "service": "Order"} }
	d.Address = func(effect string) map[string]any { return object{"key": effect} }
	d.New = func(f *Fake) http.Handler {
		var known sync.Map
		return f.ingress(token, "POST /{service}/{key}/{handler}/send", func(w http.ResponseWriter, r *http.Request) {
			if name := r.PathValue("service"); name != "Order" {
				answer(w, http.StatusNotFound, "application/json", object{"code": 404, "source": "ingress",
					"message": "service '" + name + "' not found, make sure to register the service before calling it."})
				return
			}
			key, status := r.Header.Get("Idempotency-Key"), "Accepted"
			if _, twice := known.LoadOrStore(r.PathValue("key")+"\x00"+key, true); twice && key != "" {
				status = "PreviouslyAccepted"
			} else {
				var m message
				_ = read(r, &m) // any bytes are an input
				f.with(r.PathValue("key"), func(run *run) {
					if run.begun {
						run.keep(m.Data.ResolutionID)
					}
				})
			}
			answer(w, http.StatusAccepted, "application/json", object{"invocationId": "inv_1abc", "status": status})
		})
	}
	return d
}

// ingress is the server behind a proxy that wants a bearer.
func (f *Fake) ingress(token, route string, do http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(route, do)
	mux.HandleFunc("GET /restate/health", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, "application/json", object{"services": []string{"Order"}})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
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
