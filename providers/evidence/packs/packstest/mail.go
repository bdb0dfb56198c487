package packstest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Postmark follows the Messages API.
func Postmark() Dialect {
	return Dialect{
		Pack: "postmark.message", Secrets: map[string]string{"server_token": token},
		Authorized: func(r *http.Request) bool { return r.Header.Get("X-Postmark-Server-Token") == token },
		AuthBody:   `{"ErrorCode":10,"Message":"No Account or Server API tokens were supplied."}`, OKError: `{"ErrorCode":1001,"Message":"odd"}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			count, offset := Int(q, "count", -1), Int(q, "offset", -1)
			if r.URL.Path != "/messages/outbound" || count < 1 || count > 500 || offset < 0 || count+offset > 10_000 || q.Get("messagestream") != "outbound" {
				f.Wrong(w, "%s", r.URL.RequestURI())
				return
			}
			rows := f.Rows(func(o Object) bool { return strings.EqualFold(o.Carrier, q.Get("metadata_landed_ref")) })
			out, _ := f.Slice(rows, offset, count)
			JSON(w, http.StatusOK, M{"TotalCount": f.Total(rows), "Messages": List(out, func(o Object) M {
				return M{"MessageID": "07311c54-0687-4ab9-b034-" + strconv.Itoa(o.N), "Subject": "Order", "Status": o.state("Sent"), "ReceivedAt": o.time("2006-01-02T15:04:05.0000000-07:00"),
					"MessageStream": "outbound", "Metadata": M{"landed_ref": o.Carrier}, "Recipients": []string{"kim@customer.example"}}
			})})
		},
	}
}

// Mailgun follows the Logs API: two events a message, a next token always.
func Mailgun() Dialect {
	return Dialect{
		Pack: "mailgun.message", Params: map[string]string{"domain": "mail.example.com"}, Secrets: map[string]string{"api_key": token}, Reads: []string{"POST /v1/analytics/logs"},
		Authorized: func(r *http.Request) bool { u, p, _ := r.BasicAuth(); return u == "api" && p == token },
		AuthBody:   `{"message":"Invalid private key"}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			var in struct {
				Start, End string
				Events     []string
				Filter     struct {
					AND []struct {
						Attribute, Comparator string
						Values                []struct{ Label, Value string }
					}
				}
				Pagination struct {
					Sort, Token string
					Limit       int
				}
			}
			if r.URL.Path != "/v1/analytics/logs" || !Body(r, &in) || len(in.Filter.AND) < 1 || in.Filter.AND[0].Values[0].Value != "mail.example.com" {
				f.Wrong(w, "%s %+v", r.URL.Path, in)
				return
			}
			start, err := time.Parse(time.RFC1123Z, in.Start)
			if err != nil {
				f.Wrong(w, "start %q", in.Start)
				return
			}
			tag := ""
			if len(in.Filter.AND) == 2 && in.Filter.AND[1].Attribute == "tag" {
				tag = in.Filter.AND[1].Values[0].Value
			}
			var events []M
			offset, _ := strconv.Atoi(in.Pagination.Token)
			rows := f.Rows(func(o Object) bool { return (tag == "" || strings.EqualFold(o.Carrier, tag)) && !o.At.Before(start) })
			out, _ := f.Slice(rows, offset, in.Pagination.Limit/2)
			for _, o := range out {
				for i, e := range mailgunEvents(o) {
					if slices.Contains(in.Events, e["event"].(string)) {
						e["@timestamp"] = o.At.Add(time.Duration(i) * time.Second).Format("2006-01-02T15:04:05.000Z")
						events = append(events, e)
					}
				}
			}
			if events == nil {
				events = []M{}
			}
			JSON(w, http.StatusOK, M{"items": events, "pagination": M{"next": strconv.Itoa(offset + max(len(out), 1)), "previous": "", "total": len(events)}})
		},
	}
}

// mailgunEvents are the two events of a message. A message in state "untagged"
// lost its tag, one in state "plain" has no variables.
func mailgunEvents(o Object) []M {
	last := M{"event": "delivered"}
	if o.State == "bounced" {
		last = M{"event": "failed", "severity": "permanent"}
	}
	out := []M{{"event": "accepted"}, last}
	for i, e := range out {
		e["id"], e["tags"], e["user-variables"] = "ev"+strconv.Itoa(2*o.N+i), []string{o.Carrier}, `{"landed_ref":"`+o.Carrier+`"}`
		e["message"] = M{"headers": M{"message-id": strconv.Itoa(o.N) + "@mail.example.com", "subject": "Order"}}
		switch o.State {
		case "untagged":
			delete(e, "tags")
		case "plain":
			delete(e, "user-variables")
		}
	}
	return out
}

// SendGrid follows tsg_logs_v3.json: a list without pages, details by id.
func SendGrid() Dialect {
	// Recipients of one request are messages of their own, with a common beginning.
	id := func(o Object) string {
		if strings.HasPrefix(o.State, "2nd ") {
			return "id" + strconv.Itoa(o.N-1) + ".filter2"
		}
		return "id" + strconv.Itoa(o.N) + ".filter"
	}
	detail := func(o Object) M {
		return M{"sg_message_id": id(o), "subject": "Order", "status": orElse(strings.TrimPrefix(o.State, "2nd "), "delivered"), "to_email": "kim@customer.example", "from_email": "desk@example.com"}
	}
	return Dialect{
		Pack: "sendgrid.message", Secrets: map[string]string{"api_key": token}, Reads: []string{"POST /v3/logs"},
		Authorized: bearer, AuthBody: `{"errors":[{"message":"authorization required"}]}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			if want, ok := strings.CutPrefix(r.URL.Path, "/v3/logs/"); ok {
				for _, o := range f.Rows(func(o Object) bool { return id(o) == want }) {
					if id(o) == want {
						m := detail(o)
						m["category"], m["custom_args"], m["events"] = []string{"order", o.Carrier}, M{"landed_ref": o.Carrier}, []M{}
						JSON(w, http.StatusOK, m)
						return
					}
				}
				JSON(w, http.StatusOK, M{"sg_message_id": want, "subject": "x", "status": "delivered", "category": []string{}})
				return
			}
			var in struct {
				Query string
				Limit int
			}
			if !Body(r, &in) || in.Limit < 1 || in.Limit > 1000 {
				f.Wrong(w, "%s %q", r.URL.Path, in.Query)
				return
			}
			first, times, _ := strings.Cut(in.Query, " AND ")
			category, ok := strings.CutPrefix(first, "categories IN ('")
			if !ok {
				category, times = "", in.Query
			}
			category = strings.TrimSuffix(category, "')")
			since, err := time.Parse(`sg_message_id_created_at > TIMESTAMP "`+time.RFC3339+`"`, strings.Split(times, " AND ")[0])
			if err != nil {
				f.Wrong(w, "%s %q", r.URL.Path, in.Query)
				return
			}
			rows := f.Rows(func(o Object) bool {
				return (category == "" || o.Carrier == category && o.State != "no category") && o.At.After(since)
			})
			out, _ := f.Slice(rows, 0, in.Limit)
			JSON(w, http.StatusOK, M{"messages": List(out, func(o Object) M {
				m := detail(o)
				m["sg_message_id_created_at"] = o.time(time.RFC3339)
				return m
			})})
		},
	}
}
