package zendeskfake

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

type reply struct {
	body   string // the request's
	answer map[string]any
}

func (a *Account) routes() {
	a.mux.HandleFunc("POST /oauth/tokens", a.grant)
	a.mux.HandleFunc("GET /api/v2/users/me", a.me)
	a.mux.HandleFunc("GET /api/v2/oauth/tokens/current", a.token)
	a.mux.HandleFunc("GET /api/v2/tickets", a.list)
	a.mux.HandleFunc("GET /api/v2/tickets/{id}", a.show)
	a.mux.HandleFunc("POST /api/v2/tickets", a.create)
	a.mux.HandleFunc("GET /api/v2/search", a.search)
	a.mux.HandleFunc("GET /api/v2/deleted_tickets", a.listDeleted)
	a.mux.HandleFunc("GET /api/v2/suspended_tickets", a.listSuspended)
}

// ServeHTTP plays the faults, then answers as Zendesk would.
func (a *Account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.requests++
	if r.Method != http.MethodGet && r.URL.Path != "/oauth/tokens" {
		a.writes++
	}
	f := a.faults
	a.mu.Unlock()
	if strings.Contains(r.URL.Path, f.Only) && play(w, r, f) {
		return
	}
	t, given, known := a.who(r)
	if given && !known && r.URL.Path != "/api/v2/users/me" { // who am I answers nobody too
		fail(w, http.StatusUnauthorized, "Couldn't authenticate you", "")
		return
	}
	if known && t.Email == "" && r.Method == http.MethodGet && !slices.Contains(t.Scopes, "read") &&
		!strings.HasPrefix(r.URL.Path, "/api/v2/tickets") && !strings.HasPrefix(r.URL.Path, "/api/v2/oauth") {
		fail(w, http.StatusForbidden, "Forbidden", "You are missing the following required scopes: read")
		return
	}
	a.mux.ServeHTTP(w, r)
}

// who finds the token of a request.
func (a *Account) who(r *http.Request) (t Token, given, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if user, pass, ok := r.BasicAuth(); ok {
		t, known = a.tokens[pass]
		return t, true, known && t.Email != "" && user == t.Email+"/token"
	}
	bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	t, known = a.tokens[bearer]
	return t, ok, known && t.Email == ""
}

// grant is the client credentials grant: the token is an admin's.
func (a *Account) grant(w http.ResponseWriter, r *http.Request) {
	c, ok := a.clients[r.PostFormValue("client_id")]
	scopes := strings.Fields(r.PostFormValue("scope"))
	switch {
	case r.PostFormValue("grant_type") != "client_credentials":
		fail(w, http.StatusBadRequest, "unsupported_grant_type", "")
		return
	case !ok || c.Secret != r.PostFormValue("client_secret"):
		fail(w, http.StatusUnauthorized, "invalid_client", "Client authentication failed")
		return
	case slices.ContainsFunc(scopes, func(s string) bool { return !slices.Contains(c.Allows, s) }):
		fail(w, http.StatusBadRequest, "invalid_scope", "The requested scope is invalid, unknown, or malformed.")
		return
	}
	if len(scopes) == 0 {
		scopes = c.Allows
	}
	life := c.Life
	if life == 0 {
		life = 1800
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.issued++
	token := fmt.Sprintf("issued-%d-0123456789abcdef", a.issued)
	a.tokens[token] = Token{Scopes: scopes}
	write(w, http.StatusOK, map[string]any{"access_token": token, "token_type": "bearer", "scope": strings.Join(scopes, " "), "expires_in": life})
}

func (a *Account) me(w http.ResponseWriter, r *http.Request) {
	t, _, known := a.who(r)
	if !known {
		write(w, http.StatusOK, map[string]any{"user": map[string]any{"id": nil, "name": "Anonymous user", "role": "end-user"}})
		return
	}
	role := t.Role
	if role == "" {
		role = "admin"
	}
	u := map[string]any{"id": 7, "name": Private, "role": role, "restricted_agent": t.Restricted, "ticket_restriction": nil, "suspended": t.Suspended}
	if t.Restriction != "" {
		u["ticket_restriction"] = t.Restriction
	}
	write(w, http.StatusOK, map[string]any{"user": u})
}

func (a *Account) token(w http.ResponseWriter, r *http.Request) {
	t, _, _ := a.who(r)
	if t.NoTokenInfo {
		fail(w, http.StatusForbidden, "Forbidden", "")
		return
	}
	if t.Email != "" {
		fail(w, http.StatusNotFound, "RecordNotFound", "Not found")
		return
	}
	write(w, http.StatusOK, map[string]any{"token": map[string]any{"id": 1, "scopes": t.Scopes, "token": "0123456789"}})
}

func (a *Account) list(w http.ResponseWriter, r *http.Request) {
	tickets, _, _, f := a.snapshot()
	t, _, _ := a.who(r)
	q := r.URL.Query()
	var rows []any
	for _, one := range tickets {
		switch {
		case one.Archived, t.Restricted && one.Group != 1, time.Since(one.Created) < f.ListLag,
			one.AIAgent && q.Get("support_type_scope") != "all",
			!f.IgnoreFilter && q.Has("external_id") && !strings.EqualFold(one.ExternalID, q.Get("external_id")):
			continue
		}
		rows = append(rows, one.json())
	}
	if f.NoCursor {
		numberPage(w, q, "tickets", rows, f)
		return
	}
	cursorPage(w, q, rows, f)
}

// cursorPage writes one page of rows; the cursor is the number of the next row.
func cursorPage(w http.ResponseWriter, q url.Values, rows []any, f Faults) {
	size, err := strconv.Atoi(q.Get("page[size]"))
	if err != nil || size < 1 || size > 100 {
		fail(w, http.StatusBadRequest, "InvalidPaginationParameter", "page[size] must be at most 100")
		return
	}
	if f.PageSize > 0 {
		size = min(size, f.PageSize)
	}
	from, _ := strconv.Atoi(q.Get("page[after]")) // none is the first
	if f.SamePage {
		from = 0
	}
	from = min(from, len(rows))
	to := min(from+size, len(rows))
	meta := map[string]any{"has_more": to < len(rows) || f.SamePage, "after_cursor": strconv.Itoa(to), "before_cursor": "x"}
	if f.SamePage {
		meta["after_cursor"] = fmt.Sprint(time.Now().UnixNano())
	}
	write(w, http.StatusOK, map[string]any{"tickets": some(rows[from:to]), "meta": meta, "links": map[string]any{"next": "https://elsewhere.example.com/", "prev": nil}})
}

func (a *Account) show(w http.ResponseWriter, r *http.Request) {
	tickets, _, _, _ := a.snapshot()
	for _, t := range tickets {
		if strconv.FormatInt(t.ID, 10) == r.PathValue("id") {
			write(w, http.StatusOK, map[string]any{"ticket": t.json()})
			return
		}
	}
	fail(w, http.StatusNotFound, "RecordNotFound", "Not found")
}

// search knows archived tickets and no deleted ones. It matches words anywhere.
func (a *Account) search(w http.ResponseWriter, r *http.Request) {
	tickets, _, _, f := a.snapshot()
	ref, ok := strings.CutPrefix(r.URL.Query().Get("query"), "type:ticket external_id:")
	if !ok {
		fail(w, http.StatusUnprocessableEntity, "invalid", "Invalid search")
		return
	}
	var rows []any
	for _, t := range tickets {
		if time.Since(t.Created) >= f.SearchLag && (strings.EqualFold(t.ExternalID, ref) || strings.Contains(t.Subject, ref)) {
			row := t.json()
			row["result_type"] = "ticket"
			rows = append(rows, row)
		}
	}
	write(w, http.StatusOK, map[string]any{"results": some(rows), "count": len(rows), "next_page": nil})
}

func (a *Account) listDeleted(w http.ResponseWriter, r *http.Request) {
	_, deleted, _, f := a.snapshot()
	slices.SortStableFunc(deleted, func(x, y gone) int { return y.deletedAt.Compare(x.deletedAt) })
	if r.URL.Query().Get("sort_by") != "deleted_at" || r.URL.Query().Get("sort_order") != "desc" || f.IgnoreSort {
		slices.Reverse(deleted)
	}
	var rows []any
	for _, d := range deleted {
		if time.Since(d.deletedAt) < 30*24*time.Hour {
			rows = append(rows, map[string]any{"id": d.ID, "subject": d.Subject, "deleted_at": d.deletedAt.UTC().Format(time.RFC3339),
				"previous_state": d.Status, "actor": map[string]any{"id": 8, "name": d.actor}})
		}
	}
	a.shadowPage(w, r, "deleted_tickets", rows, f)
}

func (a *Account) listSuspended(w http.ResponseWriter, r *http.Request) {
	_, _, waiting, f := a.snapshot()
	slices.SortStableFunc(waiting, func(x, y held) int { return y.at.Compare(x.at) })
	if f.IgnoreSort {
		slices.Reverse(waiting)
	}
	var rows []any
	for _, h := range waiting {
		rows = append(rows, map[string]any{"id": h.id, "subject": h.subject, "cause": "Detected as spam", "content": Private,
			"created_at": h.at.UTC().Format(time.RFC3339), "via": map[string]any{"channel": h.channel}, "author": map[string]any{"email": Private}})
	}
	a.shadowPage(w, r, "suspended_tickets", rows, f)
}

// shadowPage writes one page of a list that not everybody may see.
func (a *Account) shadowPage(w http.ResponseWriter, r *http.Request, name string, rows []any, f Faults) {
	if t, _, _ := a.who(r); t.NoShadows {
		fail(w, http.StatusForbidden, "Forbidden", "You do not have access to this page")
		return
	}
	numberPage(w, r.URL.Query(), name, rows, f)
}

// numberPage writes one page of rows, counted from 1.
func numberPage(w http.ResponseWriter, q url.Values, name string, rows []any, f Faults) {
	size, err := strconv.Atoi(q.Get("per_page"))
	if err != nil || size > 100 {
		size = 100
	}
	if f.PageSize > 0 {
		size = f.PageSize
	}
	n := 1
	if q.Has("page") {
		n, err = strconv.Atoi(q.Get("page"))
	}
	if n < 1 || q.Has("page") && (err != nil || q.Has("page[size]")) {
		fail(w, http.StatusBadRequest, "InvalidPaginationParameter", "page must be a number, or page[size] be given")
		return
	}
	from := min((n-1)*size, len(rows))
	to := min(from+size, len(rows))
	body := map[string]any{name: some(rows[from:to]), "count": len(rows), "next_page": nil, "previous_page": nil}
	if to < len(rows) {
		body["next_page"] = "https://elsewhere.example.com/?page=" + strconv.Itoa(n+1)
	}
	write(w, http.StatusOK, body)
}

// create makes a ticket, once for each Idempotency-Key.
func (a *Account) create(w http.ResponseWriter, r *http.Request) {
	t, _, known := a.who(r)
	if !known || t.Email == "" && !slices.Contains(t.Scopes, "write") && !slices.Contains(t.Scopes, "tickets:write") {
		fail(w, http.StatusForbidden, "Forbidden", "You are missing the following required scopes: write")
		return
	}
	raw, err := io.ReadAll(r.Body)
	var in struct {
		Ticket struct {
			Subject    string `json:"subject"`
			ExternalID string `json:"external_id"`
			Comment    any    `json:"comment"`
		} `json:"ticket"`
	}
	if err != nil || json.Unmarshal(raw, &in) != nil || in.Ticket.Comment == nil {
		fail(w, http.StatusUnprocessableEntity, "RecordInvalid", "Description: cannot be blank")
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if was, ok := a.replies[key]; ok && key != "" {
		if was.body != string(raw) {
			fail(w, http.StatusBadRequest, "IdempotentRequestError", "Request parameters don't match the given idempotency key")
			return
		}
		w.Header().Set("X-Idempotency-Lookup", "hit")
		write(w, http.StatusCreated, was.answer)
		return
	}
	id := a.add(Ticket{ExternalID: in.Ticket.ExternalID, Subject: in.Ticket.Subject, Group: 1})
	answer := map[string]any{"ticket": a.tickets[len(a.tickets)-1].json(), "audit": map[string]any{"ticket_id": id}}
	a.replies[key] = reply{string(raw), answer}
	w.Header().Set("X-Idempotency-Lookup", "miss")
	write(w, http.StatusCreated, answer)
}

func (t Ticket) json() map[string]any {
	out := map[string]any{"id": t.ID, "external_id": nil, "subject": t.Subject, "raw_subject": t.Subject, "description": Private, "status": t.Status,
		"created_at": t.Created.UTC().Format(time.RFC3339), "updated_at": t.Created.UTC().Format(time.RFC3339), "tags": some(t.Tags),
		"via": map[string]any{"channel": "api", "source": map[string]any{}}, "submitter_id": 7, "requester_id": 8, "url": "https://elsewhere.example.com/"}
	if t.ExternalID != "" {
		out["external_id"] = t.ExternalID
	}
	return out
}

// some is rows, never null.
func some[T any](rows []T) []T {
	if rows == nil {
		return []T{}
	}
	return rows
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Request-Id", "req-1")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

func fail(w http.ResponseWriter, status int, name, description string) {
	write(w, status, map[string]any{"error": name, "description": description})
}
