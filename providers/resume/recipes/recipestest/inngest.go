package recipestest

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/landedhq/landed/journal"
)

// inngestSignal follows inngest/inngest, pkg/api/apiv1/signals.go and
// pkg/execution/executor/executor.go (ResumeSignal) at 253303cd.
func inngestSignal() Dialect {
	const key = "signkey-test-0123456789abcdef"
	return Dialect{
		Recipe: "inngest.signal", Paths: []string{"/v1/signals"}, Early: Refused, Ended: journal.HandoverNotWaiting, Unknown: journal.HandoverNotWaiting,
		Params:  func(url string) map[string]string { return map[string]string{"url": url} },
		Secrets: map[string]string{"signing_key": key},
		Address: func(effect string) map[string]any { return object{"signal": "landed/" + effect} },
		New: func(f *Fake) http.Handler {
			mux := http.NewServeMux()
			mux.HandleFunc("POST /v1/signals", f.signal)
			mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, _ *http.Request) {
				answer(w, http.StatusOK, "application/json", object{"data": []any{}, "metadata": object{}})
			})
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer "+key {
					http.Error(w, "Authentication failed", http.StatusUnauthorized)
					return
				}
				mux.ServeHTTP(w, r)
			})
		},
	}
}

func (f *Fake) signal(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Signal string          `json:"signal"`
		Data   json.RawMessage `json:"data"`
	}
	var m message
	fault := func(status int, words string) {
		answer(w, status, "application/json", object{"error": words, "data": nil, "status": status})
	}
	if !read(r, &in) {
		fault(http.StatusBadRequest, "Invalid signal data")
		return
	}
	if in.Signal == "" {
		fault(http.StatusInternalServerError, "Failed to receive signal")
		return
	}
	_ = json.Unmarshal(in.Data, &m) // whatever it is, the run gets it
	resumed := false
	f.with(strings.TrimPrefix(in.Signal, "landed/"), func(run *run) { resumed = run.resume(m.Data.ResolutionID) })
	if !resumed {
		fault(http.StatusNotFound, "No signal found")
		return
	}
	answer(w, http.StatusOK, "application/json", object{"data": object{"run_id": "01KB5RUN"}, "metadata": object{}})
}

// inngestEvent follows pkg/api/api.go and pkg/event/event.go of the same: a wait
// takes an event that comes while it waits, and no other.
func inngestEvent() Dialect {
	const key = "event/key+0123456789"
	return Dialect{
		Recipe: "inngest.event", Paths: []string{"/e/event%2Fkey+0123456789"}, Early: Lost, Ended: journal.HandoverAccepted, Unknown: journal.HandoverAccepted,
		Params:  func(url string) map[string]string { return map[string]string{"url": url} },
		Secrets: map[string]string{"event_key": key},
		Address: func(string) map[string]any { return object{"event": "landed/resolution"} },
		New: func(f *Fake) http.Handler {
			mux := http.NewServeMux()
			mux.HandleFunc("POST /e/{key}", func(w http.ResponseWriter, r *http.Request) {
				if r.PathValue("key") != key {
					answer(w, http.StatusUnauthorized, "application/json", object{"status": 401, "message": "", "error": "Event key not found"})
					return
				}
				f.event(w, r)
			})
			return mux
		},
	}
}

func (f *Fake) event(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ID   string         `json:"id"`
		Name string         `json:"name"`
		Data map[string]any `json:"data"`
		TS   int64          `json:"ts"`
	}
	if !read(r, &in) || in.Name == "" || in.Data == nil {
		answer(w, http.StatusBadRequest, "application/json", object{"ids": []string{}, "status": 400, "error": "event name must be present"})
		return
	}
	effect, _ := in.Data["effect_id"].(string)
	id, _ := in.Data["resolution_id"].(string)
	f.with(effect, func(run *run) { run.resume(id) })
	answer(w, http.StatusOK, "application/json", object{"ids": []string{in.ID}, "status": 200})
}
