package packstest

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const token = "t0ken-For-Reading-0123456789abcdef"

func bearer(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer "+token }

// state is an object's state or the dialect's usual one.
func (o Object) state(usual string) string { return orElse(o.State, usual) }

func (o Object) time(layout string) string { return o.At.Format(layout) }

// Status is the contract of the status endpoint.
func Status() Dialect {
	return Dialect{
		Pack: "status.endpoint", Params: map[string]string{"url": "https://billing.example.com/effects"}, Secrets: map[string]string{"token": token},
		Authorized: bearer, Whole: true,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			ref := strings.TrimPrefix(r.URL.Path, "/")
			rows := f.Rows(func(o Object) bool { return strings.EqualFold(o.Carrier, ref) })
			JSON(w, http.StatusOK, M{"as_of": time.Now().UTC().Format(time.RFC3339), "effects": List(rows, func(o Object) M {
				return M{"ref": o.Carrier, "id": "e" + strconv.Itoa(o.N), "state": o.state("effective"), "at": o.time(time.RFC3339), "title": "Refund", "amount": "12.50 EUR"}
			})})
		},
	}
}

// Redmine follows Redmine's source: only known filters are applied, closed ones
// are left out unless asked for, total_count counts what the filter left.
func Redmine() Dialect {
	const field = 9
	issue := func(o Object) M {
		return M{"id": o.N, "subject": "Order", "status": M{"id": 1, "name": o.state("New")}, "project": M{"id": 1, "name": "Desk"}, "author": M{"id": 5, "name": "Worker"},
			"created_on": o.time(time.RFC3339), "custom_fields": []M{{"id": 3, "name": "Other", "value": "x"}, {"id": field, "name": "Landed Ref", "value": o.Carrier}}}
	}
	return Dialect{
		Pack: "redmine.issue", Params: map[string]string{"url": "https://desk.example.com/redmine", "field": "9"}, Secrets: map[string]string{"api_key": token},
		Authorized: func(r *http.Request) bool { return r.Header.Get("X-Redmine-API-Key") == token },
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			if id, ok := strings.CutPrefix(r.URL.Path, "/issues/"); ok {
				n, _ := strconv.Atoi(strings.TrimSuffix(id, ".json"))
				for _, o := range f.Rows(func(o Object) bool { return o.N == n }) {
					if o.N == n {
						JSON(w, http.StatusOK, M{"issue": issue(o)})
						return
					}
				}
				w.WriteHeader(http.StatusNotFound) // Redmine answers without a body
				return
			}
			q := r.URL.Query()
			switch r.URL.Path {
			case "/roles.json":
				JSON(w, http.StatusOK, M{"roles": []M{{"id": 3, "name": "Manager"}, {"id": 4, "name": "Reader"}}})
				return
			case "/users/current.json":
				JSON(w, http.StatusOK, M{"user": M{"id": 7, "login": "landed", "admin": false, "api_key": token, "memberships": []M{
					{"id": 1, "project": M{"id": 1, "name": "Desk"}, "roles": []M{{"id": 4, "name": "Reader"}}}}}})
				return
			case "/roles/4.json":
				JSON(w, http.StatusOK, M{"role": M{"id": 4, "name": "Reader", "issues_visibility": "all", "permissions": []string{"view_issues"}}})
				return
			}
			if r.URL.Path != "/issues.json" || q.Get("status_id") != "*" || !Only(q, "cf_9", "status_id", "sort", "limit", "offset") {
				f.Wrong(w, "%s", r.URL.RequestURI())
				return
			}
			rows := f.Rows(func(o Object) bool { return strings.EqualFold(o.Carrier, q.Get("cf_9")) }) // MySQL folds case
			offset, limit := Int(q, "offset", 0), min(Int(q, "limit", 25), 100)
			page, _ := f.Slice(rows, offset, limit)
			JSON(w, http.StatusOK, M{"issues": List(page, issue), "total_count": f.Total(rows), "offset": offset, "limit": limit})
		},
	}
}

// GitHub follows its OpenAPI description: the list of a repository with pull requests,
// Link headers that lead to /repositories/{id}/….
func GitHub() Dialect {
	return Dialect{
		Pack: "github.issue", Params: map[string]string{"owner": "acme", "repo": "desk", "creator": "desk-bot"}, Secrets: map[string]string{"token": token},
		Authorized: bearer, AuthBody: `{"message":"Bad credentials","documentation_url":"https://docs.github.com/rest","status":"401"}`,
		OKError: `{"message":"Server Error"}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			known := r.URL.Path == "/repos/acme/desk/issues" || r.URL.Path == "/repositories/77/issues"
			if !known || q.Get("state") != "all" || !Only(q, "state", "creator", "since", "sort", "direction", "per_page", "page") {
				f.Wrong(w, "%s", r.URL.RequestURI())
				return
			}
			since, err := time.Parse(time.RFC3339, q.Get("since"))
			if err != nil {
				f.Wrong(w, "since %q", q.Get("since"))
				return
			}
			rows := f.Rows(func(o Object) bool { return q.Get("creator") == "desk-bot" && !o.At.Before(since) })
			size, page := min(Int(q, "per_page", 30), 100), Int(q, "page", 1)
			out, more := f.Slice(rows, (page-1)*size, size)
			if more {
				q.Set("page", strconv.Itoa(page+1))
				w.Header().Set("Link", `<`+f.URL("/repositories/77/issues?"+q.Encode())+`>; rel="next", <`+f.URL("/x")+`>; rel="last"`)
			}
			JSON(w, http.StatusOK, List(out, githubIssue))
		},
	}
}

// Dialects are all packs' dialects.
func Dialects() []Dialect {
	return []Dialect{
		Status(), Redmine(), GitHub(), GitLab(), PagerDuty(), ServiceNow(), Freshdesk(), Linear(),
		Postmark(), Mailgun(), SendGrid(), Square(), PayPal(), Twilio(), Slack(),
		GitHubComment(), GoogleCalendar(), AdyenTransfer(),
		Braintree(), Salesforce(), HubSpot(), Intercom(),
		Resend(), Brevo(), Mandrill(),
	}
}
