package graphfake

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

type obj = map[string]any

func (b *Mailbox) token(w http.ResponseWriter, r *http.Request, access string) {
	_ = r.ParseForm() // what is missing is refused below
	f := r.PostForm
	if f.Get("grant_type") != "client_credentials" || f.Get("client_id") != b.Client || f.Get("client_secret") != b.Secret || f.Get("scope") != "https://graph.microsoft.com/.default" {
		write(w, http.StatusUnauthorized, obj{"error": "invalid_client", "error_description": "AADSTS7000215 " + f.Get("client_secret")})
		return
	}
	write(w, http.StatusOK, obj{"token_type": "Bearer", "expires_in": 3599, "ext_expires_in": 3599, "access_token": access})
}

func (b *Mailbox) api(w http.ResponseWriter, r *http.Request, path []string, f Faults) {
	b.mu.Lock()
	defer b.mu.Unlock()
	folder := ""
	if path[0] == "mailFolders" && len(path) == 2 {
		id := strings.TrimPrefix(path[1], "AQMk")
		name, ok := folders()[id]
		if !ok || b.faults.NoFolders {
			fail(w, http.StatusNotFound, "ErrorItemNotFound")
			return
		}
		write(w, http.StatusOK, obj{"id": "AQMk" + id, "displayName": name})
		return
	}
	if path[0] == "mailFolders" && len(path) > 2 {
		folder, path = path[1], path[2:]
	}
	switch {
	case path[0] != "messages":
		fail(w, http.StatusBadRequest, "BadRequest")
	case len(path) == 1:
		b.list(w, r, folder, f)
	default:
		b.read(w, r, path[1], f)
	}
}

// folders maps well-known names of folders to those that people see. An id is the
// well-known name with AQMk before it.
func folders() map[string]string {
	return map[string]string{"drafts": "Entwürfe", "outbox": "Postausgang", "sentitems": "Gesendete Elemente", "inbox": "Posteingang", "deleteditems": "Gelöschte Elemente", "recoverableitemsdeletions": "Deletions"}
}

// list needs the lock.
func (b *Mailbox) list(w http.ResponseWriter, r *http.Request, folder string, f Faults) {
	b.filters = append(b.filters, r.URL.RawQuery)
	q := r.URL.Query()
	if q.Get("$filter") != "" && q.Get("$orderby") != "" {
		fail(w, http.StatusBadRequest, "InefficientFilter")
		return
	}
	match, ok := filterOf(q.Get("$filter"))
	if !ok {
		fail(w, http.StatusBadRequest, "BadRequest")
		return
	}
	if strings.ContainsAny(r.URL.RawQuery, "<>+ ") {
		match = func(Message) bool { return false }
	}
	var ids []any
	for _, m := range b.messages {
		in := folder == m.Folder || folder == "" && m.Folder != "recoverableitemsdeletions"
		if in && (f.Ignore || match(m)) {
			ids = append(ids, obj{"@odata.etag": "W/\"1\"", "id": m.id(r)})
		}
	}
	top, _ := strconv.Atoi(q.Get("$top"))
	skip, _ := strconv.Atoi(q.Get("$skip"))
	if top <= 0 {
		top = 10
	}
	from, out := min(skip, len(ids)), obj{"value": []any{}}
	to := min(from+top, len(ids))
	if f.Gaps && q.Get("gap") == "" {
		to = from
	} else if from < to {
		out["value"] = ids[from:to]
	}
	if to < len(ids) || f.SamePage || f.NextLink != "" || f.Gaps && q.Get("gap") == "" {
		next := url.Values{"$filter": q["$filter"], "$select": q["$select"], "$top": q["$top"], "$skip": {strconv.Itoa(to)}}
		if f.Gaps && q.Get("gap") == "" {
			next.Set("gap", "1")
		}
		if f.SamePage {
			next.Set("$skip", "0")
		}
		origin := "https://" + r.Host
		if f.NextLink != "" {
			origin = f.NextLink
		}
		out["@odata.nextLink"] = origin + r.URL.Path + "?" + strings.ReplaceAll(next.Encode(), "+", "%20")
	}
	write(w, http.StatusOK, out)
}

// filterOf knows the two filters that the adapter uses.
func filterOf(filter string) (func(Message) bool, bool) {
	property := regexp.MustCompile(`^singleValueExtendedProperties/Any\(ep: ep/id eq '(.*)' and ep/value eq '(.*)'\)$`).FindStringSubmatch(filter)
	if property != nil {
		name := property[1][strings.LastIndex(property[1], " ")+1:]
		return func(m Message) bool {
			return m.Ref != "" && strings.EqualFold(property[1], Property) && strings.HasSuffix(Property, " "+name) && strings.EqualFold(m.Ref, property[2])
		}, true
	}
	id := regexp.MustCompile(`^internetMessageId eq '(.*)'$`).FindStringSubmatch(filter)
	if id == nil {
		return nil, false
	}
	want := strings.ReplaceAll(id[1], "''", "'")
	return func(m Message) bool { return strings.EqualFold(m.InternetID, want) }, true
}

// id is the immutable one only if that was asked for.
func (m Message) id(r *http.Request) string {
	if r.Header.Get("Prefer") == `IdType="ImmutableId"` {
		return m.ID
	}
	return m.moving()
}

// read needs the lock. Either sort of id is taken.
func (b *Mailbox) read(w http.ResponseWriter, r *http.Request, id string, f Faults) {
	if !strings.HasPrefix(id, "AA") {
		fail(w, http.StatusBadRequest, "ErrorInvalidIdMalformed")
		return
	}
	at := slices.IndexFunc(b.messages, func(m Message) bool { return m.ID == id || m.moving() == id })
	if at < 0 || f.Unread {
		fail(w, http.StatusNotFound, "ErrorItemNotFound")
		return
	}
	if f.Other {
		at = (at + 1) % len(b.messages)
	}
	m := b.messages[at]
	all, out := m.json(), obj{"id": m.id(r)}
	for name := range strings.SplitSeq(r.URL.Query().Get("$select"), ",") {
		if v, ok := all[name]; ok {
			out[name] = v
		}
	}
	if e := r.URL.Query().Get("$expand"); m.Ref != "" && strings.HasPrefix(e, "singleValueExtendedProperties($filter=id eq 'String {") && strings.HasSuffix(e, " Name LandedRef')") {
		out["singleValueExtendedProperties"] = []any{obj{"id": Property, "value": m.Ref}}
	}
	write(w, http.StatusOK, out)
}

func (m Message) json() obj {
	at := time.Now().UTC().Format(time.RFC3339)
	out := obj{"internetMessageId": m.InternetID, "subject": m.Subject, "createdDateTime": at, "sentDateTime": at, "isDraft": m.Draft, "parentFolderId": "AQMk" + m.Folder}
	if m.Link != "" {
		out["webLink"] = m.Link
	}
	headers := []any{}
	if m.Received {
		headers = append(headers, obj{"name": "Received", "value": "from mx.example by mx.example"})
	}
	if m.Header != "" {
		headers = append(headers, obj{"name": "x-landed-ref", "value": m.Header})
	}
	if len(headers) > 0 {
		out["internetMessageHeaders"] = headers
	}
	return out
}
