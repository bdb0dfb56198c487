package packstest

import (
	"net/http"
	"strconv"
	"strings"
)

// Braintree follows schema.graphql: a search of transactions, always with 200.
func Braintree() Dialect {
	return Dialect{
		Pack: "braintree.transaction", Params: map[string]string{"public_key": "v4ndq314c2s5c28r"}, Secrets: map[string]string{"private_key": token}, Reads: []string{"POST /graphql"},
		Authorized: func(r *http.Request) bool { u, p, _ := r.BasicAuth(); return u == "v4ndq314c2s5c28r" && p == token },
		AuthStatus: http.StatusOK, AuthBody: `{"data":null,"errors":[{"message":"invalid","extensions":{"errorClass":"AUTHENTICATION"}}]}`,
		OKError: `{"data":{"search":{"transactions":null}},"errors":[{"message":"An unknown error has occurred."}]}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			var in struct {
				Query     string
				Variables struct {
					First int
					After string
					Input struct{ OrderID struct{ Is string } }
				}
			}
			if !Body(r, &in) || in.Variables.Input.OrderID.Is == "" || in.Variables.First < 1 || r.Header.Get("Braintree-Version") == "" || !strings.Contains(in.Query, "TransactionSearchInput!") {
				f.Wrong(w, "%s %+v", r.URL.Path, in)
				return
			}
			rows := f.Rows(func(o Object) bool { return strings.EqualFold(o.Carrier, in.Variables.Input.OrderID.Is) })
			offset, _ := strconv.Atoi(in.Variables.After)
			out, more := f.Slice(rows, offset, in.Variables.First)
			var end any // null where there is nothing
			if len(out) > 0 {
				end = strconv.Itoa(offset + len(out))
			}
			JSON(w, http.StatusOK, M{"data": M{"search": M{"transactions": M{"pageInfo": M{"hasNextPage": more, "endCursor": end}, "edges": List(out, func(o Object) M {
				return M{"node": M{"id": "dHJhbnNhY3Rpb25f" + strconv.Itoa(o.N), "legacyId": "t" + strconv.Itoa(o.N), "orderId": o.Carrier, "createdAt": o.time("2006-01-02T15:04:05.000000Z"),
					"status": o.state("SETTLED"), "merchantAccountId": "acme", "amount": M{"value": "12.50", "currencyCode": "EUR"}}}
			})}}}, "extensions": M{"requestId": "r1"}})
		},
	}
}

// Salesforce follows the REST API guide: queryAll, batches by nextRecordsUrl.
func Salesforce() Dialect {
	const access, tokens, data = "00D-access-token", "/services/oauth2/token", "/services/data/v65.0/"
	return Dialect{
		Pack: "salesforce.record", Params: map[string]string{"domain": "acme", "client_id": "app"}, Secrets: map[string]string{"client_secret": token}, Reads: []string{"POST " + tokens}, TokenPath: tokens,
		Authorized: func(r *http.Request) bool {
			if r.URL.Path == tokens {
				return r.FormValue("client_id") == "app" && r.FormValue("client_secret") == token && r.FormValue("grant_type") == "client_credentials"
			}
			return r.Header.Get("Authorization") == "Bearer "+access
		},
		AuthBody: `[{"message":"Session expired or invalid","errorCode":"INVALID_SESSION_ID"}]`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == tokens {
				JSON(w, http.StatusOK, M{"access_token": access, "token_type": "Bearer", "instance_url": f.URL("")})
				return
			}
			q, offset := r.URL.Query().Get("q"), 0
			if locator, ok := strings.CutPrefix(r.URL.Path, data+"query/"); ok { // further batches say query
				q, _, _ = strings.Cut(locator, "-")
				offset, _ = strconv.Atoi(locator[len(q)+1:])
			} else if q, ok = strings.CutPrefix(q, "SELECT Id, IsDeleted, CreatedDate, Landed_Ref__c FROM Case WHERE Landed_Ref__c = '"); !ok || r.URL.Path != data+"queryAll" {
				f.Wrong(w, "%s", r.URL.RequestURI())
				return
			}
			ref := strings.TrimSuffix(q, "'")
			rows := f.Rows(func(o Object) bool { return strings.EqualFold(o.Carrier, ref) })
			out, more := f.Slice(rows, offset, 100)
			body := M{"totalSize": f.Total(rows), "done": !more, "records": List(out, func(o Object) M {
				return M{"attributes": M{"type": "Case"}, "Id": "500" + strconv.Itoa(o.N), "IsDeleted": o.State == "deleted", "CreatedDate": o.time("2006-01-02T15:04:05.000+0000"), "Landed_Ref__c": o.Carrier}
			})}
			if more {
				body["nextRecordsUrl"] = data + "query/" + ref + "-" + strconv.Itoa(offset+100)
			}
			JSON(w, http.StatusOK, body)
		},
	}
}

// HubSpot follows the specification of CRM tickets and the types of
// @hubspot/api-client: a search without archived ones, which can be read in a
// batch by a unique property.
func HubSpot() Dialect {
	const search, batch = "/crm/v3/objects/tickets/search", "/crm/v3/objects/tickets/batch/read"
	ticket := func(o Object) M {
		return M{"id": strconv.Itoa(o.N), "createdAt": o.time("2006-01-02T15:04:05.000Z"), "updatedAt": o.time("2006-01-02T15:04:05.000Z"), "archived": o.State == "archived",
			"properties": M{"landed_ref": o.Carrier, "subject": "Order", "hs_pipeline_stage": o.state("1"), "hs_object_id": strconv.Itoa(o.N)}}
	}
	return Dialect{
		Pack: "hubspot.ticket", Params: map[string]string{"not_effective": "9"}, Secrets: map[string]string{"token": token}, Reads: []string{"POST " + search, "POST " + batch},
		Authorized: bearer, AuthBody: `{"status":"error","message":"Authentication credentials not found","correlationId":"c","category":"INVALID_AUTHENTICATION"}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == batch {
				var in struct {
					IDProperty string `json:"idProperty"`
					Inputs     []struct{ ID string }
				}
				if !Body(r, &in) || in.IDProperty != "landed_ref" || r.URL.Query().Get("archived") != "true" || len(in.Inputs) != 1 {
					f.Wrong(w, "%s %+v", r.URL.RequestURI(), in)
					return
				}
				batch := func(results []M) M {
					return M{"status": "COMPLETE", "startedAt": "2026-11-30T08:00:00.000Z", "completedAt": "2026-11-30T08:00:00.100Z", "results": results}
				}
				status, body := http.StatusMultiStatus, batch([]M{})
				failed := M{"status": "error", "category": "OBJECT_NOT_FOUND", "message": "not there", "context": M{"ids": []string{in.Inputs[0].ID}}, "links": M{}, "errors": []M{}}
				body["numErrors"], body["errors"] = 1, []M{failed}
				for _, o := range f.Rows(func(o Object) bool {
					return o.State == "odd error" || o.State == "archived" && o.Carrier == in.Inputs[0].ID
				}) {
					if o.State == "archived" && o.Carrier == in.Inputs[0].ID {
						status, body = http.StatusOK, batch([]M{ticket(o)})
					} else if o.State == "odd error" {
						failed["category"] = "SOMETHING_ELSE"
					}
				}
				JSON(w, status, body)
				return
			}
			var in struct {
				FilterGroups []struct {
					Filters []struct{ PropertyName, Operator, Value string }
				}
				Limit int
				After string
			}
			if r.URL.Path != search || !Body(r, &in) || len(in.FilterGroups) != 1 || in.FilterGroups[0].Filters[0].Operator != "EQ" || in.Limit < 1 || in.Limit > 200 {
				f.Wrong(w, "%s %+v", r.URL.Path, in)
				return
			}
			filter := in.FilterGroups[0].Filters[0]
			rows := f.Rows(func(o Object) bool {
				return o.State != "archived" && filter.PropertyName == "landed_ref" && strings.EqualFold(o.Carrier, filter.Value)
			})
			offset, _ := strconv.Atoi(in.After)
			out, more := f.Slice(rows, offset, in.Limit)
			body := M{"total": f.Total(rows), "results": List(out, ticket)}
			if more {
				body["paging"] = M{"next": M{"after": strconv.Itoa(offset + len(out))}}
			}
			JSON(w, http.StatusOK, body)
		},
	}
}

// Intercom follows api.intercom.io.yaml: a search of contacts.
func Intercom() Dialect {
	return Dialect{
		Pack: "intercom.contact", Secrets: map[string]string{"token": token}, Reads: []string{"POST /contacts/search"},
		Authorized: bearer, AuthBody: `{"type":"error.list","errors":[{"code":"unauthorized","message":"Access Token Invalid"}]}`,
		OKError: `{"type":"error.list","errors":[{"code":"server_error"}]}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			var in struct {
				Query      struct{ Field, Operator, Value string }
				Pagination struct {
					PerPage       int    `json:"per_page"`
					StartingAfter string `json:"starting_after"`
				}
			}
			if r.URL.Path != "/contacts/search" || !Body(r, &in) || in.Query.Field != "external_id" || in.Query.Operator != "=" || r.Header.Get("Intercom-Version") == "" {
				f.Wrong(w, "%s %+v", r.URL.Path, in)
				return
			}
			rows := f.Rows(func(o Object) bool { return strings.EqualFold(o.Carrier, in.Query.Value) })
			offset, _ := strconv.Atoi(in.Pagination.StartingAfter)
			out, more := f.Slice(rows, offset, in.Pagination.PerPage)
			pages := M{"type": "pages", "per_page": in.Pagination.PerPage}
			if more {
				pages["next"] = M{"per_page": in.Pagination.PerPage, "starting_after": strconv.Itoa(offset + len(out))}
			}
			JSON(w, http.StatusOK, M{"type": "list", "total_count": f.Total(rows), "pages": pages, "data": List(out, func(o Object) M {
				return M{"type": "contact", "id": "c" + strconv.Itoa(o.N), "external_id": o.Carrier, "role": o.state("user"), "created_at": o.At.Unix()}
			})})
		},
	}
}
