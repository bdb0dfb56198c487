package packstest

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// GitHubComment follows docs.github.com: all comments of a repository.
func GitHubComment() Dialect {
	return Dialect{
		Pack: "github.comment", Params: map[string]string{"owner": "acme", "repo": "desk"}, Secrets: map[string]string{"token": token},
		Authorized: bearer, AuthBody: `{"message":"Bad credentials"}`, OKError: `{"message":"Server Error"}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			since, err := time.Parse(time.RFC3339, q.Get("since"))
			if r.URL.Path != "/repos/acme/desk/issues/comments" || err != nil || q.Get("sort") != "created" || !Only(q, "since", "sort", "direction", "per_page", "page") {
				f.Wrong(w, "%s", r.URL.RequestURI())
				return
			}
			rows := f.Rows(func(o Object) bool { return !o.At.Before(since) })
			size, page := min(Int(q, "per_page", 30), 100), Int(q, "page", 1)
			out, more := f.Slice(rows, (page-1)*size, size)
			if more {
				q.Set("page", strconv.Itoa(page+1))
				w.Header().Set("Link", `<`+f.URL(r.URL.Path+"?"+q.Encode())+`>; rel="next"`)
			}
			JSON(w, http.StatusOK, List(out, githubComment))
		},
	}
}

// GoogleCalendar follows calendar-api.json: events filtered by a property, and
// read by their id; a deleted one shows nothing but its id.
func GoogleCalendar() Dialect {
	return Dialect{
		Pack: "google.calendar_event", Params: map[string]string{"calendar": "desk@example.com"}, Secrets: map[string]string{"token": token},
		Authorized: bearer, AuthBody: `{"error":{"code":401,"message":"Invalid Credentials","errors":[{"reason":"authError"}]}}`, OKError: `{"error":{"code":500,"errors":[]}}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			if id, ok := strings.CutPrefix(r.URL.Path, "/calendar/v3/calendars/desk@example.com/events/"); ok {
				if f.Fault() != FaultIgnoreFilter && len(f.Rows(func(o Object) bool { return o.State == "deleted" && o.Carrier == id })) > 0 {
					JSON(w, http.StatusOK, M{"kind": "calendar#event", "id": id, "status": "cancelled"})
					return
				}
				JSON(w, http.StatusNotFound, M{"error": M{"code": 404, "message": "Not Found", "errors": []M{{"domain": "global", "reason": "notFound"}}}})
				return
			}
			value, ok := strings.CutPrefix(q.Get("privateExtendedProperty"), "landed_ref=")
			if r.URL.Path != "/calendar/v3/calendars/desk@example.com/events" || !ok || q.Get("showDeleted") != "true" {
				f.Wrong(w, "%s", r.URL.RequestURI())
				return
			}
			role := "owner"
			rows := f.Rows(func(o Object) bool {
				if o.State == "reader" {
					role = "reader"
				}
				return o.Carrier == value && o.State != "deleted"
			})
			offset := Int(q, "pageToken", 0)
			out, more := f.Slice(rows, offset, 100)
			body := M{"kind": "calendar#events", "accessRole": role, "items": List(out, func(o Object) M {
				return M{"id": "ev" + strconv.Itoa(o.N), "status": o.state("confirmed"), "created": o.time("2006-01-02T15:04:05.000Z"), "summary": "Visit",
					"htmlLink": "https://www.google.com/calendar/event?eid=" + strconv.Itoa(o.N), "extendedProperties": M{"private": M{"landed_ref": o.Carrier}}}
			})}
			if more {
				body["nextPageToken"] = strconv.Itoa(offset + 100)
			}
			JSON(w, http.StatusOK, body)
		},
	}
}

// AdyenTransfer follows TransferService-v4.json and the types of @adyen/api-library.
func AdyenTransfer() Dialect {
	return Dialect{
		Pack: "adyen.transfer", Params: map[string]string{"environment": "test", "balance_platform": "Acme"}, Secrets: map[string]string{"api_key": token},
		Authorized: func(r *http.Request) bool { return r.Header.Get("X-API-Key") == token },
		AuthBody:   `{"status":401,"errorCode":"000","message":"HTTP Status Response - Unauthorized","errorType":"security"}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			since, err := time.Parse(time.RFC3339, q.Get("createdSince"))
			until, err2 := time.Parse(time.RFC3339, q.Get("createdUntil"))
			if r.URL.Path != "/btl/v4/transfers" || err != nil || err2 != nil || until.Sub(since) > 184*24*time.Hour || q.Get("balancePlatform") != "Acme" {
				f.Wrong(w, "%s", r.URL.RequestURI())
				return
			}
			rows := f.Rows(func(o Object) bool { return strings.EqualFold(o.Carrier, q.Get("reference")) && !o.At.Before(since) })
			offset, size := Int(q, "cursor", 0), min(Int(q, "limit", 10), 100)
			out, more := f.Slice(rows, offset, size)
			body := M{"data": List(out, func(o Object) M {
				return M{"id": "TR" + strconv.Itoa(o.N), "reference": o.Carrier, "category": "bank", "status": o.state("booked"), "createdAt": o.time(time.RFC3339), "amount": M{"value": 1250, "currency": "EUR"}}
			})}
			if more {
				next := url.Values{}
				for k, v := range q {
					next[k] = v
				}
				next.Set("cursor", strconv.Itoa(offset+size))
				body["_links"] = M{"next": M{"href": f.URL("/btl/v4/transfers?" + next.Encode())}}
			}
			JSON(w, http.StatusOK, body)
		},
	}
}
