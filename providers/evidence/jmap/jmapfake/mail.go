package jmapfake

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// query needs the lock.
func (a *Account) query(args obj, f Faults) (obj, string) {
	filter, _ := args["filter"].(obj)
	ids := []string{}
	for _, m := range a.messages {
		ok, known := m.matches(filter)
		if !known {
			return nil, "unsupportedFilter"
		}
		if ok || f.Ignore {
			ids = append(ids, m.ID)
		}
	}
	total := len(ids)
	position, _ := args["position"].(float64)
	limit, _ := args["limit"].(float64)
	if f.MaxLimit > 0 {
		limit = min(limit, float64(f.MaxLimit))
	}
	from := min(int(position), total)
	page := ids[from:min(from+int(limit), total)]
	if f.SamePage {
		page = ids[:min(int(limit), total)]
	}
	if f.Changing {
		a.state++
	}
	out := obj{"accountId": "A1", "queryState": fmt.Sprint(a.state), "canCalculateChanges": false, "position": from, "ids": page}
	if args["calculateTotal"] == true && !f.NoTotal {
		out["total"] = total
	}
	return out, ""
}

// matches knows OR and the condition for headers.
func (m Message) matches(filter obj) (ok, known bool) {
	if filter["operator"] == "OR" {
		conditions, _ := filter["conditions"].([]any)
		for _, c := range conditions {
			one, _ := c.(obj)
			hit, known := m.matches(one)
			if !known {
				return false, false
			}
			ok = ok || hit
		}
		return ok, true
	}
	header, _ := filter["header"].([]any)
	if len(filter) != 1 || len(header) != 2 {
		return false, false
	}
	name, _ := header[0].(string)
	text, _ := header[1].(string)
	value := ""
	switch {
	case strings.EqualFold(name, "X-Landed-Ref"):
		value = m.Ref
	case strings.EqualFold(name, "Message-ID"):
		value = "<" + m.MessageID + ">"
	}
	return strings.Contains(strings.ToLower(value), strings.ToLower(text)), true
}

// get needs the lock. Properties are those that were asked for.
func (a *Account) get(ids []string, args obj, f Faults) obj {
	list, missing := []any{}, []any{}
	properties, _ := args["properties"].([]any)
	for _, id := range ids {
		at := slices.IndexFunc(a.messages, func(m Message) bool { return m.ID == id })
		if at < 0 || f.Unread {
			missing = append(missing, id)
			continue
		}
		all, out := a.messages[at].json(), obj{"id": id}
		for _, p := range properties {
			name, _ := p.(string)
			if v, ok := all[name]; ok && !(f.NoHeader && strings.HasPrefix(name, "header:")) {
				out[name] = v
			}
		}
		list = append(list, out)
	}
	return obj{"accountId": "A1", "state": "1", "list": list, "notFound": missing}
}

func (m Message) json() obj {
	boxes, keywords := obj{}, obj{}
	for _, b := range m.Boxes {
		boxes[b] = true
	}
	if m.Draft {
		keywords["$draft"] = true
	}
	refs, received, messageID := []any{}, []any{}, []any{}
	if m.Ref != "" {
		refs = append(refs, " "+m.Ref)
	}
	if m.Received {
		received = append(received, " from mx.example by mx.example")
	}
	if m.MessageID != "" {
		messageID = append(messageID, m.MessageID)
	}
	return obj{"id": m.ID, "messageId": messageID, "subject": m.Subject, "sentAt": nil, "receivedAt": now(), "mailboxIds": boxes, "keywords": keywords,
		"header:Received:all": received, "header:X-Landed-Ref:all": refs}
}

// submissions needs the lock.
func (a *Account) submissions(args obj) (obj, string) {
	filter, _ := args["filter"].(obj)
	emails, ok := filter["emailIds"].([]any)
	if len(filter) != 1 || !ok {
		return nil, "unsupportedFilter"
	}
	ids := []string{}
	for _, s := range a.subs {
		if slices.ContainsFunc(emails, func(v any) bool { return v == s.EmailID }) {
			ids = append(ids, s.ID)
		}
	}
	return obj{"accountId": "A1", "queryState": "1", "canCalculateChanges": false, "position": 0, "ids": ids}, ""
}

const hugeSize = 100 << 20

// play answers in place of the account and reports whether it did.
func play(w http.ResponseWriter, r *http.Request, f Faults) bool {
	text := func(kind, body string) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body) // the client may be gone
	}
	switch f.Trouble {
	case TroubleRateLimited:
		w.Header().Set("Retry-After", "7")
		problem(w, http.StatusTooManyRequests, "about:blank")
	case TroubleLimit:
		problem(w, http.StatusBadRequest, "urn:ietf:params:jmap:error:limit")
	case TroubleServerError:
		problem(w, http.StatusInternalServerError, "about:blank")
	case TroubleNotFound:
		problem(w, http.StatusNotFound, "about:blank")
	case TroubleForbidden:
		problem(w, http.StatusForbidden, "about:blank")
	case TroubleUnauthorized:
		problem(w, http.StatusUnauthorized, "Bearer "+r.Header.Get("Authorization"))
	case TroubleHang:
		_, _ = io.Copy(io.Discard, r.Body) // only then is the client's leaving noticed
		<-r.Context().Done()
	case TroubleHuge:
		w.Header().Set("Content-Type", "application/json")
		chunk := strings.Repeat(" ", 64<<10)
		for range hugeSize / len(chunk) {
			if _, err := io.WriteString(w, chunk); err != nil {
				return true // the client had enough
			}
		}
	case TroubleRedirect:
		http.Redirect(w, r, f.RedirectTo, http.StatusTemporaryRedirect)
	case TroubleHTML:
		text("text/html", "<!doctype html><form>Login</form>")
	case TroubleGarbage:
		text("application/json", "\x00\xff{]")
	case TroubleNull:
		text("application/json", "null")
	default:
		return false
	}
	return true
}

func answer(w http.ResponseWriter, v obj) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

func problem(w http.ResponseWriter, code int, kind string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(obj{"type": kind, "status": code}) // the client may be gone
}
