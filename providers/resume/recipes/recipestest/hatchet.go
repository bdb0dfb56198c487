package recipestest

import (
	"net/http"

	"github.com/landedhq/landed/journal"
)

// hatchet follows hatchet-dev/hatchet, handlers/v1/webhooks/receive.go at
// 89d130f3: a webhook of source generic with the key expression input.type and the
// scope expression input.scope. Its tasks look back when they wait.
func hatchet() Dialect {
	const key, tenant = "webhook-key-0123456789", "d60181b7-da6c-4d4c-92ec-8aa0fc74b3e5"
	return Dialect{
		Recipe: "hatchet.webhook", Paths: []string{"/api/v1/stable/tenants/" + tenant + "/webhooks/landed"}, Early: Kept,
		Ended: journal.HandoverAccepted, Unknown: journal.HandoverAccepted,
		Params:  func(url string) map[string]string { return map[string]string{"url": url, "tenant": tenant} },
		Secrets: map[string]string{"api_key": key},
		Address: func(effect string) map[string]any { return object{"scope": effect} },
		New: func(f *Fake) http.Handler {
			mux := http.NewServeMux()
			mux.HandleFunc("GET /api/ready", func(http.ResponseWriter, *http.Request) {})
			mux.HandleFunc("POST /api/v1/tenants/{tenant}/events", func(w http.ResponseWriter, _ *http.Request) {
				fault(w, http.StatusBadRequest, "EventCreate is deprecated")
			})
			mux.HandleFunc("POST /api/v1/stable/tenants/{tenant}/webhooks/{name}", func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.PathValue("tenant") != tenant:
					fault(w, http.StatusBadRequest, "tenant not found")
				case r.PathValue("name") != "landed":
					fault(w, http.StatusBadRequest, "webhook "+r.PathValue("name")+" not found for tenant "+tenant)
				case r.Header.Get("X-Landed-Key") != key:
					fault(w, http.StatusForbidden, "invalid api key: X-Landed-Key")
				default:
					f.push(w, r)
				}
			})
			return mux
		},
	}
}

func (f *Fake) push(w http.ResponseWriter, r *http.Request) {
	var in struct {
		message
		Scope string `json:"scope"`
	}
	if !read(r, &in) {
		fault(w, http.StatusBadRequest, "failed to unmarshal request body")
		return
	}
	if in.Type == "" {
		fault(w, http.StatusBadRequest, "Event key evaluated to an empty string")
		return
	}
	f.with(in.Scope, func(run *run) { run.keep(in.Data.ResolutionID) })
	w.WriteHeader(http.StatusNoContent)
}

func fault(w http.ResponseWriter, status int, words string) {
	answer(w, status, "application/json", object{"errors": []object{{"description": words}}})
}
