package packstest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Square follows api.json: payments by location, no field where there are none.
func Square() Dialect {
	return Dialect{
		Pack: "square.payment", Secrets: map[string]string{"token": token}, Authorized: bearer,
		AuthBody: `{"errors":[{"category":"AUTHENTICATION_ERROR","code":"UNAUTHORIZED"}]}`, OKError: `{"errors":[{"category":"API_ERROR","code":"INTERNAL_SERVER_ERROR"}]}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			if r.Header.Get("Square-Version") == "" {
				f.Wrong(w, "no Square-Version")
				return
			}
			if r.URL.Path == "/v2/locations" {
				JSON(w, http.StatusOK, M{"locations": []M{{"id": "MAIN", "status": "ACTIVE"}, {"id": "SECOND", "status": "INACTIVE"}}})
				return
			}
			begin, err := time.Parse(time.RFC3339, q.Get("begin_time"))
			end, err2 := time.Parse(time.RFC3339, q.Get("end_time"))
			if r.URL.Path != "/v2/payments" || err != nil || err2 != nil || !Only(q, "begin_time", "end_time", "location_id", "sort_order", "limit", "cursor") {
				f.Wrong(w, "%s", r.URL.RequestURI())
				return
			}
			place := map[bool]string{true: "MAIN", false: "SECOND"}
			rows := f.Rows(func(o Object) bool {
				return place[o.N%2 == 0] == q.Get("location_id") && !o.At.Before(begin) && !o.At.After(end)
			})
			offset := Int(q, "cursor", 0)
			out, more := f.Slice(rows, offset, 100)
			body := M{}
			if len(out) > 0 {
				body["payments"] = List(out, func(o Object) M {
					return M{"id": "pay" + strconv.Itoa(o.N), "created_at": o.time("2006-01-02T15:04:05.000Z"), "status": o.state("COMPLETED"), "reference_id": o.Carrier,
						"location_id": q.Get("location_id"), "amount_money": M{"amount": 1250, "currency": "EUR"}, "receipt_url": "https://squareup.com/receipt/" + strconv.Itoa(o.N)}
				})
			}
			if more {
				body["cursor"] = strconv.Itoa(offset + 100)
			}
			JSON(w, http.StatusOK, body)
		},
	}
}

// PayPal follows reporting_transactions_v1.json.
func PayPal() Dialect {
	const access = "A21-access-token"
	return Dialect{
		Pack: "paypal.transaction", Params: map[string]string{"client_id": "app"}, Secrets: map[string]string{"client_secret": token}, Reads: []string{"POST /v1/oauth2/token"}, TokenPath: "/v1/oauth2/token",
		Authorized: func(r *http.Request) bool {
			if u, p, ok := r.BasicAuth(); ok {
				return u == "app" && p == token
			}
			return r.Header.Get("Authorization") == "Bearer "+access
		},
		AuthBody: `{"error":"invalid_client","error_description":"Client Authentication failed"}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/oauth2/token" {
				JSON(w, http.StatusOK, M{"access_token": access, "token_type": "Bearer", "expires_in": 32400})
				return
			}
			q := r.URL.Query()
			start, err := time.Parse(time.RFC3339, q.Get("start_date"))
			end, err2 := time.Parse(time.RFC3339, q.Get("end_date"))
			if r.URL.Path != "/v1/reporting/transactions" || err != nil || err2 != nil || end.Sub(start) > 31*24*time.Hour || q.Get("balance_affecting_records_only") != "N" {
				f.Wrong(w, "%s", r.URL.RequestURI())
				return
			}
			rows := f.Rows(func(o Object) bool { return !o.At.Before(start) })
			size, page := Int(q, "page_size", 100), Int(q, "page", 1)
			out, _ := f.Slice(rows, (page-1)*size, size)
			JSON(w, http.StatusOK, M{"page": page, "total_items": f.Total(rows), "total_pages": max((f.Total(rows)+size-1)/size, 1), "last_refreshed_datetime": time.Now().UTC().Add(-time.Hour).Format("2006-01-02T15:04:05-0700"),
				"transaction_details": List(out, func(o Object) M {
					code, status := "T0006", o.state("S")
					if strings.HasPrefix(status, "T") { // completed, of another kind than a payment
						code, status = status, "S"
					}
					return M{"transaction_info": M{"transaction_id": "TX" + strconv.Itoa(o.N), "transaction_initiation_date": o.time("2006-01-02T15:04:05-0700"), "transaction_status": status,
						"custom_field": o.Carrier, "transaction_event_code": code, "transaction_amount": M{"value": "12.50", "currency_code": "EUR"}}}
				})})
		},
	}
}

// Twilio follows twilio_api_v2010.json: newest first, by day, no other filter.
func Twilio() Dialect {
	account := "AC" + strings.Repeat("a", 32)
	key := "SK" + strings.Repeat("b", 32)
	return Dialect{
		Pack: "twilio.message", Params: map[string]string{"account_sid": account, "key_sid": key}, Secrets: map[string]string{"key_secret": token},
		Authorized: func(r *http.Request) bool { u, p, _ := r.BasicAuth(); return u == key && p == token },
		AuthBody:   `{"code":20003,"message":"Authenticate","status":401}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			q, path := r.URL.Query(), "/2010-04-01/Accounts/"+account+"/Messages.json"
			if r.URL.Path != path || !Only(q, "DateSent>", "PageSize", "Page", "PageToken") {
				f.Wrong(w, "%s", r.URL.RequestURI())
				return
			}
			since, _ := time.Parse(time.DateOnly, q.Get("DateSent>"))
			rows := f.Rows(func(o Object) bool { return !o.At.Before(since) && (q.Get("DateSent>") == "" || o.State != "queued") })
			newest := make([]Object, 0, len(rows))
			for i := len(rows) - 1; i >= 0; i-- {
				newest = append(newest, rows[i])
			}
			size, page := Int(q, "PageSize", 50), Int(q, "Page", 0)
			out, more := f.Slice(newest, page*size, size)
			body := M{"page": page, "page_size": size, "next_page_uri": nil, "messages": List(out, func(o Object) M {
				sent := any(o.time(time.RFC1123Z))
				if o.State == "queued" {
					sent = nil
				}
				body := "Your order. ref:" + o.Carrier
				if o.State == "redacted" {
					body = ""
				}
				return M{"date_sent": sent, "sid": fmt.Sprintf("SM%032x", o.N), "body": body, "status": o.state("delivered"), "direction": "outbound-api", "num_media": "0",
					"date_created": o.time(time.RFC1123Z), "error_code": nil}
			})}
			if more {
				q.Set("Page", strconv.Itoa(page+1))
				body["next_page_uri"] = path + "?" + q.Encode()
			}
			JSON(w, http.StatusOK, body)
		},
	}
}

// Slack follows conversations.history.
func Slack() Dialect {
	return Dialect{
		Pack: "slack.message", Params: map[string]string{"channel": "C0123456789"}, Secrets: map[string]string{"token": token},
		Authorized: bearer, AuthStatus: http.StatusOK, AuthBody: `{"ok":false,"error":"invalid_auth"}`, OKError: `{"ok":false,"error":"fatal_error"}`,
		Serve: func(f *Fake, w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			if r.URL.Path != "/api/conversations.history" || q.Get("channel") != "C0123456789" || q.Get("include_all_metadata") != "true" {
				f.Wrong(w, "%s", r.URL.RequestURI())
				return
			}
			oldest := time.Unix(int64(Int(q, "oldest", 0)), 0)
			rows := f.Rows(func(o Object) bool { return !o.At.Before(oldest) })
			offset, size := Int(q, "cursor", 0), Int(q, "limit", 100)
			out, more := f.Slice(rows, offset, size)
			body := M{"ok": true, "has_more": more, "messages": List(out, func(o Object) M {
				return M{"type": "message", "ts": strconv.FormatInt(o.At.Unix(), 10) + "." + strconv.Itoa(100_000+o.N), "text": "Order", "user": "U1",
					"metadata": M{"event_type": "landed_effect", "event_payload": M{"landed_ref": o.Carrier}}}
			})}
			if more {
				body["response_metadata"] = M{"next_cursor": strconv.Itoa(offset + size)}
			}
			JSON(w, http.StatusOK, body)
		},
	}
}
