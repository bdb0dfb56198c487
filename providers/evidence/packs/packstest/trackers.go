package packstest

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
)

// GitLab follows doc/api/issues.md: the list of a project by author and time,
// pages by Link. It has no search: the real one does not find marks.
func GitLab() Dialect {
	return Dialect{
		Pack: "gitlab.issue", Params: map[string]string{"project": "acme/desk", "author": "desk-bot"}, Secrets: map[string]string{"token": token},
		Authorized: func(r *http.Request) bool { return r.Header.Get("PRIVATE-TOKEN") == token },
		AuthBody:   `{"message":"401 Unauthorized"}`, OKError: `{"message":"error"}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			since, err := time.Parse(time.RFC3339, q.Get("created_after"))
			if r.URL.EscapedPath() != "/api/v4/projects/acme%2Fdesk/issues" || err != nil || q.Get("scope") != "all" || q.Get("state") != "all" ||
				!Only(q, "author_username", "created_after", "scope", "state", "order_by", "sort", "per_page", "page") {
				f.Wrong(w, "%s", r.URL.RequestURI())
				return
			}
			rows := f.Rows(func(o Object) bool { return q.Get("author_username") == "desk-bot" && !o.At.Before(since) })
			size, page := min(Int(q, "per_page", 20), 100), Int(q, "page", 1)
			out, more := f.Slice(rows, (page-1)*size, size)
			if more {
				q.Set("page", strconv.Itoa(page+1))
				w.Header().Set("Link", `<`+f.URL(r.URL.EscapedPath()+"?"+q.Encode())+`>; rel="next"`)
			}
			JSON(w, http.StatusOK, List(out, func(o Object) M {
				return M{"id": o.N, "iid": o.N, "title": "Order", "description": "Look.\n\n<!-- landed:" + o.Carrier + " -->", "state": "opened", "created_at": o.time("2006-01-02T15:04:05.000Z"),
					"web_url": "https://gitlab.com/acme/desk/-/issues/" + strconv.Itoa(o.N), "author": M{"username": "desk-bot"}}
			}))
		},
	}
}

// PagerDuty follows reference/REST/openapiv3.json.
func PagerDuty() Dialect {
	return Dialect{
		Pack: "pagerduty.incident", Secrets: map[string]string{"api_key": token},
		Authorized: func(r *http.Request) bool { return r.Header.Get("Authorization") == "Token token="+token },
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			if r.URL.Path != "/incidents" || q.Get("date_range") != "all" || len(q["statuses[]"]) != 3 || r.Header.Get("Accept") != "application/vnd.pagerduty+json;version=2" || r.Header.Get("Content-Type") != "application/json" ||
				!Only(q, "incident_key", "date_range", "statuses[]", "sort_by", "limit", "offset") {
				f.Wrong(w, "%s, Accept %s", r.URL.RequestURI(), r.Header.Get("Accept"))
				return
			}
			rows := f.Rows(func(o Object) bool { return strings.EqualFold(o.Carrier, q.Get("incident_key")) })
			offset, limit := Int(q, "offset", 0), min(Int(q, "limit", 25), 100)
			out, more := f.Slice(rows, offset, limit)
			JSON(w, http.StatusOK, M{"limit": limit, "offset": offset, "more": more, "total": nil, "incidents": List(out, func(o Object) M {
				m := M{"id": "PT" + strconv.Itoa(o.N), "incident_number": o.N, "title": "Disk", "created_at": o.time(time.RFC3339), "status": o.state("triggered"), "incident_key": o.Carrier,
					"html_url": "https://acme.pagerduty.com/incidents/PT" + strconv.Itoa(o.N), "service": M{"id": "PIJ90N7", "summary": "Desk"}}
				if o.State == "by alert" { // found by an alert's key; it has none of its own
					m["status"] = "triggered"
					delete(m, "incident_key")
				}
				return m
			})})
		},
	}
}

// ServiceNow follows the Table API; a query that it does not understand brings
// everything.
func ServiceNow() Dialect {
	return Dialect{
		Pack: "servicenow.record", Params: map[string]string{"instance": "acme", "user": "reader"}, Secrets: map[string]string{"password": token},
		Authorized: func(r *http.Request) bool { u, p, _ := r.BasicAuth(); return u == "reader" && p == token },
		AuthBody:   `{"error":{"message":"User Not Authenticated","detail":"Required to provide Auth information"},"status":"failure"}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			if r.URL.Path != "/api/now/table/incident" || q.Get("sysparm_display_value") != "false" {
				f.Wrong(w, "%s", r.URL.RequestURI())
				return
			}
			key, _ := strings.CutPrefix(strings.TrimSuffix(q.Get("sysparm_query"), "^ORDERBYsys_created_on"), "correlation_id=")
			rows := f.Rows(func(o Object) bool { return strings.EqualFold(o.Carrier, key) })
			out, _ := f.Slice(rows, Int(q, "sysparm_offset", 0), Int(q, "sysparm_limit", 10_000))
			w.Header().Set("X-Total-Count", strconv.Itoa(f.Total(rows)))
			JSON(w, http.StatusOK, M{"result": List(out, func(o Object) M {
				return M{"sys_id": strings.Repeat("0", 31) + strconv.Itoa(o.N), "number": "INC" + strconv.Itoa(o.N), "short_description": "Order", "state": o.state("1"),
					"correlation_id": o.Carrier, "sys_created_on": o.time(time.DateTime), "sys_created_by": "worker"}
			})})
		},
	}
}

// Freshdesk follows developers.freshdesk.com: three lists, pages by Link.
func Freshdesk() Dialect {
	return Dialect{
		Pack: "freshdesk.ticket", Params: map[string]string{"domain": "acme"}, Secrets: map[string]string{"api_key": token},
		Authorized: func(r *http.Request) bool { u, p, _ := r.BasicAuth(); return u == token && p == "X" },
		AuthBody:   `{"code":"invalid_credentials","message":"You have to be logged in to perform this action."}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			since, err := time.Parse(time.RFC3339, q.Get("updated_since"))
			if r.URL.Path != "/api/v2/tickets" || err != nil || !Only(q, "filter", "updated_since", "order_by", "order_type", "per_page", "page") {
				f.Wrong(w, "%s", r.URL.RequestURI())
				return
			}
			rows := f.Rows(func(o Object) bool { return !o.At.Before(since) && o.State == q.Get("filter") })
			size, page := min(Int(q, "per_page", 30), 100), Int(q, "page", 1)
			out, more := f.Slice(rows, (page-1)*size, size)
			if more {
				q.Set("page", strconv.Itoa(page+1))
				w.Header().Set("Link", `<`+f.URL("/api/v2/tickets?"+q.Encode())+`>; rel="next"`)
			}
			JSON(w, http.StatusOK, List(out, func(o Object) M {
				return M{"id": o.N, "subject": "Order", "status": 2, "spam": o.State == "spam", "created_at": o.time(time.RFC3339), "updated_at": o.time(time.RFC3339),
					"custom_fields": M{"cf_landed_ref": o.Carrier, "cf_other": nil}}
			}))
		},
	}
}

// Linear follows packages/sdk/src/schema.graphql.
func Linear() Dialect {
	return Dialect{
		Pack: "linear.issue", Secrets: map[string]string{"api_key": token}, Reads: []string{"POST /graphql"},
		Authorized: func(r *http.Request) bool { return r.Header.Get("Authorization") == token },
		AuthBody:   `{"errors":[{"message":"Authentication required, not authenticated","extensions":{"code":"AUTHENTICATION_ERROR"}}]}`,
		OKError:    `{"data":{"issues":{"nodes":[],"pageInfo":{"hasNextPage":false,"endCursor":null}}},"errors":[{"message":"a team is not visible","extensions":{"code":"SOMETHING"}}]}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			var in struct {
				Query     string `json:"query"`
				Variables struct {
					First  int    `json:"first"`
					After  string `json:"after"`
					Filter struct {
						Or []struct {
							ID          struct{ Eq string }       `json:"id"`
							Description struct{ Contains string } `json:"description"`
						} `json:"or"`
					} `json:"filter"`
				} `json:"variables"`
			}
			if !Body(r, &in) || len(in.Variables.Filter.Or) != 2 || !strings.Contains(in.Query, "includeArchived: true") {
				f.Wrong(w, "no such query")
				return
			}
			id, contains := in.Variables.Filter.Or[0].ID.Eq, in.Variables.Filter.Or[1].Description.Contains
			rows := f.Rows(func(o Object) bool {
				return o.State == "by id" && journal.Dashed(o.Carrier) == id || o.State != "by id" && strings.Contains(o.Carrier, contains)
			})
			offset, _ := strconv.Atoi(in.Variables.After)
			out, more := f.Slice(rows, offset, in.Variables.First)
			end := strconv.Itoa(offset + len(out))
			JSON(w, http.StatusOK, M{"data": M{"issues": M{"pageInfo": M{"hasNextPage": more, "endCursor": end}, "nodes": List(out, func(o Object) M {
				own, text := journal.Dashed(journal.RandomRef()), any("landed:"+o.Carrier+".")
				if o.State == "by id" {
					own, text = journal.Dashed(o.Carrier), nil
				}
				return M{"id": own, "identifier": "DSK-" + strconv.Itoa(o.N), "title": "Order", "url": "https://linear.app/acme/issue/DSK-" + strconv.Itoa(o.N), "description": text,
					"createdAt": o.time("2006-01-02T15:04:05.000Z"), "archivedAt": nil, "trashed": o.State == "trashed", "state": M{"name": "Todo"}}
			})}}})
		},
	}
}
