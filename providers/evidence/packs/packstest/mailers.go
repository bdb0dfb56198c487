package packstest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
)

// Resend follows resend.yaml and resend-node: a list without tags, newest first,
// and single emails with them.
func Resend() Dialect {
	email := func(o Object) M {
		m := M{"id": "id-" + strconv.Itoa(o.N), "subject": "Order", "created_at": o.time("2006-01-02T15:04:05.000000+00:00"), "last_event": o.state("delivered"), "to": []string{"kim@customer.example"},
			"from": "Desk <desk@example.com>", "bcc": nil, "cc": nil, "reply_to": []string{"desk+" + o.Carrier + "@example.com"}, "scheduled_at": nil}
		if o.N%2 == 0 { // the documents show both forms
			m["created_at"], m["reply_to"] = o.time("2006-01-02 15:04:05.000000+00"), []string{"A+B Desk <desk+" + o.Carrier + "@example.com>"}
		}
		if o.State == "foreign" {
			m["reply_to"], m["last_event"] = nil, "sent"
		}
		return m
	}
	return Dialect{
		Pack: "resend.email", Secrets: map[string]string{"api_key": token}, NoFilter: true,
		Authorized: bearer, AuthStatus: http.StatusBadRequest, AuthBody: `{"statusCode":400,"name":"validation_error","message":"API key is invalid"}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			rows := f.Rows(func(Object) bool { return true })
			if id, ok := strings.CutPrefix(r.URL.Path, "/emails/id-"); ok {
				for _, o := range rows {
					if strconv.Itoa(o.N) == id {
						m := email(o)
						m["object"], m["html"], m["text"] = "email", nil, "Your order."
						m["tags"] = []M{{"name": "kind", "value": "order"}, {"name": "landed_ref", "value": o.Carrier}}
						JSON(w, http.StatusOK, m)
						return
					}
				}
				JSON(w, http.StatusNotFound, M{"statusCode": 404, "name": "not_found", "message": "Email not found"})
				return
			}
			q := r.URL.Query()
			limit := Int(q, "limit", 20)
			if r.URL.Path != "/emails" || limit < 1 || limit > 100 || !Only(q, "limit", "after") {
				f.Wrong(w, "%s", r.URL.RequestURI())
				return
			}
			newest := make([]Object, 0, len(rows))
			for i := len(rows) - 1; i >= 0; i-- {
				newest = append(newest, rows[i])
			}
			offset := 0
			for i, o := range newest {
				if "id-"+strconv.Itoa(o.N) == q.Get("after") {
					offset = i + 1
				}
			}
			out, more := f.Slice(newest, offset, limit)
			JSON(w, http.StatusOK, M{"object": "list", "has_more": more, "data": List(out, email)})
		},
	}
}

// Brevo follows swagger.yaml: two events a message, by days, no total.
func Brevo() Dialect {
	return Dialect{
		Pack: "brevo.message", Secrets: map[string]string{"api_key": token},
		Authorized: func(r *http.Request) bool { return r.Header.Get("api-key") == token },
		AuthBody:   `{"message":"Key not found","code":"unauthorized"}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			var tags []string
			days, limit, offset := Int(q, "days", 0), Int(q, "limit", 2500), Int(q, "offset", 0)
			if r.URL.Path != "/v3/smtp/statistics/events" || json.Unmarshal([]byte(q.Get("tags")), &tags) != nil || len(tags) != 1 || days < 1 || days > 90 ||
				limit < 1 || limit > 5000 || !Only(q, "tags", "days", "limit", "offset", "sort") {
				f.Wrong(w, "%s", r.URL.RequestURI())
				return
			}
			since := time.Now().AddDate(0, 0, -days)
			rows := f.Rows(func(o Object) bool { return strings.EqualFold(o.Carrier, tags[0]) && !o.At.Before(since) })
			out, _ := f.Slice(rows, offset/2, limit/2)
			if len(out) == 0 {
				JSON(w, http.StatusOK, M{}) // the field is left out
				return
			}
			var events []M
			for _, o := range out {
				for i, event := range []string{"requests", o.state("delivered")} {
					tag := o.Carrier
					if o.N%2 == 0 {
						tag = `["` + o.Carrier + `"]`
					}
					events = append(events, M{"email": "kim@customer.example", "date": o.At.Add(time.Duration(i) * time.Second).Format("2006-01-02T15:04:05.000-07:00"), "subject": "Order",
						"messageId": "<2026." + strconv.Itoa(o.N) + "@smtp-relay.mailin.fr>", "event": event, "tag": tag, "from": "desk@example.com"})
				}
			}
			JSON(w, http.StatusOK, M{"events": events})
		},
	}
}

// Mandrill follows transactional.openapi.json: the key stands in the body, only
// fields that are indexed are searched.
func Mandrill() Dialect {
	return Dialect{
		Pack: "mandrill.message", Secrets: map[string]string{"api_key": token},
		Reads: []string{"POST /api/1.4/messages/search", "POST /api/1.4/metadata/list"},
		Authorized: func(r *http.Request) bool {
			b, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(b)) // Serve reads it again
			var in struct{ Key string }
			return err == nil && json.Unmarshal(b, &in) == nil && in.Key == token
		},
		AuthBody: `{"status":"error","code":401,"name":"Invalid_Key","message":"Invalid API key"}`, OKError: `{"status":"error","code":-1,"name":"GeneralError","message":"odd"}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/1.4/metadata/list" {
				state := "active"
				for _, o := range f.Rows(func(o Object) bool { return o.State == "not indexed" }) {
					if o.State == "not indexed" {
						state = "index"
					}
				}
				JSON(w, http.StatusOK, []M{{"name": "group_id", "state": "active"}, {"name": "landed_ref", "state": state}})
				return
			}
			var in struct {
				Query    string
				DateFrom string `json:"date_from"`
				DateTo   string `json:"date_to"`
				Limit    int
			}
			if r.URL.Path != "/api/1.4/messages/search" || !Body(r, &in) || in.Limit < 1 || in.Limit > 1000 || !journal.ValidRef(strings.Trim(in.Query, `"`)) {
				f.Wrong(w, "%s %+v", r.URL.Path, in)
				return
			}
			since, err := time.Parse(time.DateOnly, in.DateFrom)
			until, err2 := time.Parse(time.DateOnly, in.DateTo)
			if err != nil || err2 != nil || until.Before(since) {
				f.Wrong(w, "%s %+v", r.URL.Path, in)
				return
			}
			rows := f.Rows(func(o Object) bool {
				return strings.EqualFold(o.Carrier, strings.Trim(in.Query, `"`)) && !o.At.Before(since)
			})
			out, _ := f.Slice(rows, 0, in.Limit)
			JSON(w, http.StatusOK, List(out, func(o Object) M {
				m := M{"ts": o.At.Unix(), "_id": "abc" + strconv.Itoa(o.N), "tags": []string{"order"}, "sender": "desk@example.com", "subject": "Order", "email": "kim@customer.example",
					"state": o.state("sent"), "opens": 0, "clicks": 0, "reject": nil, "metadata": M{"landed_ref": o.Carrier}}
				if o.State == "foreign" {
					m["metadata"] = []string{} // an empty object, as PHP writes it
				}
				return m
			}))
		},
	}
}
