package stripefake

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (a *Account) routes() {
	for kind, k := range kinds() {
		path := "/v1/" + k[0]
		a.mux.HandleFunc("POST "+path, a.api("", func(w http.ResponseWriter, r *http.Request, key Key) { a.create(w, r, kind, key) }))
		a.mux.HandleFunc("GET "+path, a.api(kind, func(w http.ResponseWriter, r *http.Request, key Key) { a.list(w, r, kind, key) }))
		a.mux.HandleFunc("GET "+path+"/search", a.api(kind, func(w http.ResponseWriter, r *http.Request, key Key) { a.search(w, r, kind, key) }))
		a.mux.HandleFunc("GET "+path+"/{id}", a.api(kind, func(w http.ResponseWriter, r *http.Request, key Key) { a.read(w, r, kind, key) }))
	}
	a.mux.HandleFunc("GET /v1/events", a.api("event", a.events))
	a.mux.HandleFunc("/", a.api("", func(w http.ResponseWriter, r *http.Request, _ Key) {
		fail(w, http.StatusNotFound, "", "Unrecognized request URL ("+r.Method+": "+r.URL.Path+").")
	}))
}

// ServeHTTP serves the API.
func (a *Account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.requests++
	if r.Method != http.MethodGet {
		a.writes++
	}
	a.mu.Unlock()
	a.mux.ServeHTTP(w, r)
}

// api checks the key and its permission, and plays the faults.
func (a *Account) api(kind string, h func(http.ResponseWriter, *http.Request, Key)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Request-Id", "req_3x")
		f := a.currentFaults()
		if (f.Only == "" || strings.Contains(r.URL.Path, f.Only)) && play(w, r, f) {
			return
		}
		kindOfAuth, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		key, ok := a.keys[text]
		switch {
		case !ok || kindOfAuth != "Bearer":
			fail(w, http.StatusUnauthorized, "", "Invalid API Key provided: "+text[:min(8, len(text))]+"****")
		case kind != "" && !slices.Contains(key.Read, kind) || r.Method == http.MethodPost && !key.Create:
			fail(w, http.StatusForbidden, "", "The provided key does not have the required permissions for this endpoint on account 'acct_1x'.")
		default:
			h(w, r, key)
		}
	}
}

// only refuses parameters that Stripe does not know, as Stripe does.
func only(w http.ResponseWriter, q url.Values, names ...string) bool {
	for name := range q {
		if !slices.Contains(names, strings.TrimRight(name, "[]0123456789")) && !slices.Contains(names, name) {
			fail(w, http.StatusBadRequest, "parameter_unknown", "Received unknown parameter: "+name)
			return false
		}
	}
	return true
}

func (a *Account) list(w http.ResponseWriter, r *http.Request, kind string, key Key) {
	if !only(w, r.URL.Query(), "limit", "created[gte]", "created[lte]", "starting_after", "customer") {
		return
	}
	a.page(w, r, a.visible(kind, key.Live), func(t *Thing) string { return t.ID }, (*Thing).json)
}

// events lists one event for each object, whatever its kind, for 30 days.
func (a *Account) events(w http.ResponseWriter, r *http.Request, key Key) {
	if !only(w, r.URL.Query(), "limit", "created[gte]", "created[lte]", "starting_after", "types") {
		return
	}
	var types []string
	for name, v := range r.URL.Query() {
		if strings.HasPrefix(name, "types[") {
			types = append(types, v...)
		}
	}
	var all []*Thing
	for kind := range kinds() {
		for _, t := range a.visible(kind, key.Live) {
			if time.Since(t.Created) < 30*24*time.Hour && (len(types) == 0 || a.currentFaults().IgnoreFilter || slices.Contains(types, t.eventType())) {
				all = append(all, t)
			}
		}
	}
	slices.SortFunc(all, func(x, y *Thing) int { return y.seq - x.seq })
	a.page(w, r, all, (*Thing).eventID, (*Thing).event)
}

// page writes one page of rows, newest first.
func (a *Account) page(w http.ResponseWriter, r *http.Request, rows []*Thing, id func(*Thing) string, write func(*Thing) obj) {
	q, f := r.URL.Query(), a.currentFaults()
	if !f.IgnoreFilter {
		rows = slices.DeleteFunc(rows, func(t *Thing) bool {
			at := t.Created.Unix()
			return at < number(q.Get("created[gte]"), 0) || at > number(q.Get("created[lte]"), 1<<60)
		})
	}
	if after := q.Get("starting_after"); after != "" && !f.SamePage {
		at := slices.IndexFunc(rows, func(t *Thing) bool { return id(t) == after })
		if at < 0 {
			fail(w, http.StatusBadRequest, "resource_missing", "No such object: '"+after+"'")
			return
		}
		rows = rows[at+1:]
	}
	limit := min(int(number(q.Get("limit"), 10)), 100)
	more := len(rows) > limit
	data := []obj{}
	for _, t := range rows[:min(limit, len(rows))] {
		data = append(data, write(t))
	}
	answer(w, http.StatusOK, obj{"object": "list", "url": r.URL.Path, "has_more": more || f.SamePage, "data": data})
}

func (a *Account) read(w http.ResponseWriter, r *http.Request, kind string, key Key) {
	for _, t := range a.visible(kind, key.Live) {
		if t.ID == r.PathValue("id") {
			answer(w, http.StatusOK, t.json())
			return
		}
	}
	fail(w, http.StatusNotFound, "resource_missing", "No such "+kind+": '"+r.PathValue("id")+"'")
}

// search knows metadata['key']:'value' only, and lags.
func (a *Account) search(w http.ResponseWriter, r *http.Request, kind string, key Key) {
	m := regexp.MustCompile(`^metadata\['([^']+)'\]:'([^']+)'$`).FindStringSubmatch(r.URL.Query().Get("query"))
	f := a.currentFaults()
	switch {
	case kind != "payment_intent" && kind != "charge":
		fail(w, http.StatusNotFound, "", "Unrecognized request URL.")
		return
	case m == nil || f.NoSearch:
		fail(w, http.StatusBadRequest, "", "Search is not supported here.")
		return
	}
	data := []obj{}
	for _, t := range a.visible(kind, key.Live) {
		if time.Since(t.Created) >= f.SearchLag && (t.Metadata[m[1]] == m[2] || f.StaleSearch) {
			j := t.json()
			if f.StaleSearch {
				j["metadata"] = obj{m[1]: m[2]}
			}
			data = append(data, j)
		}
	}
	answer(w, http.StatusOK, obj{"object": "search_result", "url": r.URL.Path, "has_more": false, "next_page": nil, "data": data})
}

// reply is what a repeated request gets.
type reply struct {
	params string
	body   obj
}

// create follows Stripe's idempotency: the same key gives the first answer, and
// other parameters under it are refused.
func (a *Account) create(w http.ResponseWriter, r *http.Request, kind string, key Key) {
	if err := r.ParseForm(); err != nil {
		fail(w, http.StatusBadRequest, "", "Invalid form.")
		return
	}
	name, params := r.Header.Get("Idempotency-Key"), r.PostForm.Encode()
	a.mu.Lock()
	defer a.mu.Unlock()
	if old, ok := a.replies[name]; ok && name != "" {
		if old.params != params {
			fail(w, http.StatusBadRequest, "", "Keys for idempotent requests can only be used with the same parameters they were first used with.")
			return
		}
		w.Header().Set("Idempotent-Replayed", "true")
		answer(w, http.StatusOK, old.body)
		return
	}
	t := Thing{Kind: kind, Live: key.Live, Key: name, Metadata: map[string]string{}}
	if kind == "payment_intent" && r.PostForm.Get("confirm") != "true" {
		t.Status = "requires_confirmation"
	}
	for k, v := range r.PostForm {
		if m := regexp.MustCompile(`^metadata\[([^\[\]]{1,40})\]$`).FindStringSubmatch(k); m != nil {
			t.Metadata[m[1]] = v[0]
		}
	}
	a.add(t)
	body := a.things[len(a.things)-1].json()
	a.replies[name] = reply{params, body}
	answer(w, http.StatusOK, body)
}

func number(s string, otherwise int64) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

func answer(w http.ResponseWriter, code int, v obj) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// fail is Stripe's form of an error.
func fail(w http.ResponseWriter, code int, reason, message string) {
	e := obj{"type": "invalid_request_error", "message": message}
	if code >= 500 {
		e["type"] = "api_error"
	}
	if reason != "" {
		e["code"] = reason
	}
	answer(w, code, obj{"error": e})
}
