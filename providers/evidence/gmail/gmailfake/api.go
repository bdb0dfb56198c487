package gmailfake

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

type obj = map[string]any

// token takes a refresh token, or an assertion that the service account signed.
func (a *Account) token(w http.ResponseWriter, r *http.Request, f Faults, access string) {
	_ = r.ParseForm() // what is missing is refused below
	ok := false
	switch r.PostForm.Get("grant_type") {
	case "refresh_token":
		ok = r.PostForm.Get("refresh_token") == a.Refresh && r.PostForm.Get("client_secret") == a.Secret && r.PostForm.Get("client_id") != ""
	case "urn:ietf:params:oauth:grant-type:jwt-bearer":
		ok = a.Key != nil && a.signed(r.PostForm.Get("assertion"), "https://"+r.Host+"/token")
	}
	if !ok {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(obj{"error": "invalid_grant", "error_description": r.PostForm.Get("refresh_token")}) // the client may be gone
		return
	}
	out := obj{"access_token": access, "expires_in": 3599, "token_type": "Bearer"}
	if f.Scope != "" {
		out["scope"] = f.Scope
	}
	answer(w, out)
}

// signed checks an assertion as the token server does.
func (a *Account) signed(assertion, aud string) bool {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return false
	}
	var head struct{ Alg, Typ string }
	var c struct {
		Iss, Sub, Scope, Aud string
		Iat, Exp             int64
	}
	sig, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !part(parts[0], &head) || !part(parts[1], &c) {
		return false
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	now := time.Now().Unix()
	return rsa.VerifyPKCS1v15(a.Key, crypto.SHA256, sum[:], sig) == nil && head.Alg == "RS256" && c.Sub == a.Mailbox && c.Aud == aud &&
		c.Scope == "https://www.googleapis.com/auth/gmail.readonly" && c.Iss != "" && c.Iat <= now && c.Exp > now && c.Exp-c.Iat <= 3600
}

func part(s string, out any) bool {
	b, err := base64.RawURLEncoding.DecodeString(s)
	return err == nil && json.Unmarshal(b, out) == nil
}

func (a *Account) api(w http.ResponseWriter, r *http.Request, what string, f Faults) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kind, id, one := strings.Cut(what, "/")
	switch {
	case kind == "messages" && !one:
		a.list(w, r, f)
	case kind == "messages":
		at := slices.IndexFunc(a.messages, func(m Message) bool { return m.ID == id })
		if at < 0 || f.Unread {
			fail(w, http.StatusNotFound, "notFound")
			return
		}
		if f.Other {
			at = (at + 1) % len(a.messages)
		}
		answer(w, a.messages[at].json(r.URL.Query()["metadataHeaders"], f))
	case kind == "drafts" && one && a.drafts[id] != "":
		at := slices.IndexFunc(a.messages, func(m Message) bool { return m.ID == a.drafts[id] })
		answer(w, obj{"id": id, "message": a.messages[at].json(nil, f)})
	case kind == "threads" && one:
		list := []any{}
		for _, m := range a.messages {
			if m.Thread == id {
				list = append(list, m.json(r.URL.Query()["metadataHeaders"], f))
			}
		}
		if len(list) == 0 {
			fail(w, http.StatusNotFound, "notFound")
			return
		}
		answer(w, obj{"id": id, "historyId": "1", "messages": list})
	default:
		fail(w, http.StatusNotFound, "notFound")
	}
}

// list needs the lock.
func (a *Account) list(w http.ResponseWriter, r *http.Request, f Faults) {
	q := r.URL.Query()
	a.queries = append(a.queries, q.Get("q"))
	if strings.Contains(f.Scope, "gmail.metadata") && q.Get("q") != "" {
		fail(w, http.StatusForbidden, "forbidden")
		return
	}
	var ids []any
	for _, m := range a.messages {
		hidden := slices.Contains(m.Labels, "TRASH") || slices.Contains(m.Labels, "SPAM")
		if (f.Ignore || m.matches(q.Get("q"))) && (!hidden || q.Get("includeSpamTrash") == "true") {
			ids = append(ids, obj{"id": m.ID, "threadId": m.Thread})
		}
	}
	size, _ := strconv.Atoi(q.Get("maxResults"))
	from, _ := strconv.Atoi(strings.TrimPrefix(q.Get("pageToken"), "p"))
	if size <= 0 {
		size = 100
	}
	from = min(from, len(ids))
	to := min(from+min(size, 500), len(ids))
	out := obj{"resultSizeEstimate": len(ids)}
	if from < to {
		out["messages"] = ids[from:to]
	}
	if to < len(ids) {
		out["nextPageToken"] = "p" + strconv.Itoa(to)
	}
	if f.SamePage {
		out["nextPageToken"] = "p0"
	}
	answer(w, out)
}

// matches knows rfc822msgid: and one quoted word of the text.
func (m Message) matches(q string) bool {
	if id, ok := strings.CutPrefix(q, "rfc822msgid:"); ok {
		return strings.EqualFold(strings.Trim(id, "<>"), m.MessageID)
	}
	word := strings.ToLower(strings.Trim(q, `"`))
	return slices.Contains(strings.FieldsFunc(strings.ToLower(m.Subject+" "+m.Body), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}), word)
}

// json renders what format=metadata gives; names nil = every header field.
func (m Message) json(names []string, f Faults) obj {
	headers := []any{}
	put := func(name, value string) {
		if value != "" && (names == nil || slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })) {
			headers = append(headers, obj{"name": name, "value": value})
		}
	}
	if m.MessageID != "" {
		put("Message-Id", "<"+m.MessageID+">")
	}
	if m.Original != "" {
		put("X-Google-Original-Message-ID", "<"+m.Original+">")
	}
	if !f.NoHeaders {
		put("X-Landed-Ref", m.Ref)
	}
	put("Subject", m.Subject)
	put("To", "kim@customer.example")
	return obj{"id": m.ID, "threadId": m.Thread, "labelIds": m.Labels, "internalDate": now(), "payload": obj{"mimeType": "text/plain", "headers": headers}}
}
