package packstest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// JSON answers with a JSON body.
func JSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have hung up
}

// Body reads a JSON body into out; false if it is none.
func Body(r *http.Request, out any) bool {
	b, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	return err == nil && json.Unmarshal(b, out) == nil
}

// Only reports whether a query has no parameters but these.
func Only(q url.Values, names ...string) bool {
	known := map[string]bool{}
	for _, n := range names {
		known[n] = true
	}
	for n := range q {
		if !known[n] {
			return false
		}
	}
	return true
}

// Int reads a number of a query, or other if there is none.
func Int(q url.Values, name string, other int) int {
	if n, err := strconv.Atoi(q.Get(name)); err == nil {
		return n
	}
	return other
}

// M is a JSON object.
type M = map[string]any

// List turns objects into a JSON list.
func List(rows []Object, each func(Object) M) []M {
	out := make([]M, 0, len(rows))
	for _, o := range rows {
		out = append(out, each(o))
	}
	return out
}
