package recipestest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/landedhq/landed/journal"
)

// langgraph follows docs.langchain.com/langsmith/agent-server-api and
// langchain-ai/langgraphjs, libs/langgraph-api at 06a0431c. The thread's id is the
// effect's.
func langgraph() Dialect {
	const key = "lsv2-test-0123456789"
	return Dialect{
		Recipe: "langgraph.resume", Paths: []string{"/threads/*/runs", "/threads/*/state"}, Early: Refused, Ended: journal.HandoverGone, Unknown: journal.HandoverUnknown,
		Params:  func(url string) map[string]string { return map[string]string{"url": url} },
		Secrets: map[string]string{"api_key": key},
		Address: func(effect string) map[string]any { return object{"thread_id": effect, "assistant_id": "agent"} },
		New: func(f *Fake) http.Handler {
			g := &agentServer{f: f, runs: map[string][]object{}}
			mux := http.NewServeMux()
			mux.HandleFunc("GET /threads/{thread}/runs", g.thread(g.list))
			mux.HandleFunc("GET /threads/{thread}/state", g.thread(g.state))
			mux.HandleFunc("POST /threads/{thread}/runs", g.thread(g.create))
			mux.HandleFunc("POST /assistants/search", func(w http.ResponseWriter, _ *http.Request) {
				answer(w, http.StatusOK, "application/json", []any{object{"assistant_id": "agent"}})
			})
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-Api-Key") != key {
					answer(w, http.StatusForbidden, "application/json", object{"detail": "Missing authentication headers"})
					return
				}
				mux.ServeHTTP(w, r)
			})
		},
	}
}

// agentServer has the threads' runs.
type agentServer struct {
	f    *Fake
	runs map[string][]object // with the fake's lock held
}

// interruptOf is the id of a thread's interrupt: 32 hex digits.
func interruptOf(effect string) string { return strings.ReplaceAll(effect, "-", "") }

func (g *agentServer) thread(next func(http.ResponseWriter, *http.Request, string, *run)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		effect := r.PathValue("thread")
		g.f.with(effect, func(run *run) {
			if !run.begun {
				http.Error(w, "Thread with ID "+effect+" not found", http.StatusNotFound)
				return
			}
			next(w, r, effect, run)
		})
	}
}

// underWay is the time before the run interrupts itself.
func (r *run) underWay() bool { return !r.waits && !r.ended && len(r.seen) == 0 }

func (g *agentServer) list(w http.ResponseWriter, _ *http.Request, effect string, run *run) {
	first := object{"run_id": "run-0", "thread_id": effect, "status": "success", "metadata": object{}}
	if run.underWay() {
		first["status"] = "running"
	}
	answer(w, http.StatusOK, "application/json", append([]object{first}, g.runs[effect]...))
}

// state has an answered interrupt listed as well, with its result.
func (g *agentServer) state(w http.ResponseWriter, _ *http.Request, effect string, run *run) {
	interrupt := object{"id": interruptOf(effect), "value": object{"effect_id": effect, "question": "what now?"}}
	task := object{"id": "t1", "name": "charge", "error": nil, "interrupts": []object{}, "checkpoint": nil, "state": nil}
	next := []string{"charge"}
	others := []object{{"id": "t0", "name": "other", "interrupts": []object{{"id": "0123456789abcdef0123456789abcdef", "value": "a text"}}, "result": nil}}
	if len(run.seen) > 0 { // an answered one goes on being listed, with its task's result
		others = append(others, object{"id": "t2", "name": "charge", "result": object{"done": true},
			"interrupts": []object{{"id": "fedcba9876543210fedcba9876543210", "value": object{"effect_id": effect}}}})
	}
	switch {
	case run.ended || run.underWay(): // with durability exit nothing is to be seen of a run before it ends
		answer(w, http.StatusOK, "application/json", object{"values": object{}, "next": []string{}, "tasks": []object{}, "metadata": object{}})
		return
	case run.waits:
		task["interrupts"] = []object{interrupt}
	case len(run.seen) > 0:
		task["interrupts"], task["result"] = []object{interrupt}, object{"done": true}
		next = []string{"notify"}
	}
	answer(w, http.StatusOK, "application/json", object{"values": object{}, "next": next, "metadata": object{},
		"tasks": append(others, task)})
}

func (g *agentServer) create(w http.ResponseWriter, r *http.Request, effect string, run *run) {
	var in struct {
		AssistantID string         `json:"assistant_id"`
		Metadata    map[string]any `json:"metadata"`
		Multitask   string         `json:"multitask_strategy"`
		Command     struct {
			Resume map[string]json.RawMessage `json:"resume"`
		} `json:"command"`
	}
	if !isJSON(r) || !read(r, &in) {
		answer(w, http.StatusBadRequest, "application/json", object{"success": false, "error": object{"name": "ZodError"}})
		return
	}
	if in.AssistantID != "agent" {
		http.Error(w, fmt.Sprintf("No assistant found for %q. Make sure the assistant ID is for a valid assistant or a valid graph ID.", in.AssistantID), http.StatusNotFound)
		return
	}
	if (run.busy || run.underWay()) && in.Multitask == "reject" { // another run is under way
		http.Error(w, "Thread is already running a task. Wait for it to finish or choose a different multitask strategy.", http.StatusUnprocessableEntity)
		return
	}
	var m message
	_ = json.Unmarshal(in.Command.Resume[interruptOf(effect)], &m) // another interrupt's leaves this one waiting
	if m.Data.ResolutionID != "" {
		run.resume(m.Data.ResolutionID)
	}
	id := fmt.Sprintf("run-%d", len(g.runs[effect])+1)
	g.runs[effect] = append(g.runs[effect], object{"run_id": id, "thread_id": effect, "status": "success", "metadata": in.Metadata})
	answer(w, http.StatusOK, "application/json", object{"run_id": id, "thread_id": effect, "status": "pending", "metadata": in.Metadata})
}
