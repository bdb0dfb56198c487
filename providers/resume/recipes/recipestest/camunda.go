package recipestest

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/landedhq/landed/journal"
)

const (
	camundaClient = "client-0123456789"
	camundaSecret = "client-s3cret-0123456789"
	camundaToken  = "access-0123456789"
)

func camundaParams(url string) map[string]string {
	return map[string]string{"url": url, "token_url": url + "/oauth/token"}
}

// camundaMessage follows camunda/camunda, MessagePublishProcessor.java and
// RestErrorMapper.java: a message id is known as long as the message is kept. The
// correlation key is the effect.
func camundaMessage() Dialect {
	return Dialect{
		Recipe: "camunda.message", Paths: []string{"/v2/messages/publication", "/oauth/token"}, Early: Kept,
		Ended: journal.HandoverAccepted, Unknown: journal.HandoverAccepted, Params: camundaParams,
		Secrets: map[string]string{"client_id": camundaClient, "client_secret": camundaSecret},
		Address: func(effect string) map[string]any {
			return object{"message": "landed-resolution", "correlation_key": effect}
		},
		New: func(f *Fake) http.Handler {
			var known sync.Map
			return f.camunda("POST /v2/messages/publication", func(w http.ResponseWriter, in publication) {
				busy := false
				f.with(in.CorrelationKey, func(run *run) { busy = run.busy })
				if busy {
					problem(w, http.StatusConflict, "INVALID_STATE", "Command 'PUBLISH' rejected with code 'INVALID_STATE': The message has not been "+
						"routed to the right partition. This is probably a temporary issue, please retry in a few seconds")
					return
				}
				if _, twice := known.LoadOrStore(in.tenant()+"\x00"+in.Name+"\x00"+in.CorrelationKey+"\x00"+in.MessageID, true); twice && in.MessageID != "" && in.TimeToLive > 0 {
					problem(w, http.StatusConflict, "ALREADY_EXISTS", fmt.Sprintf("Command 'PUBLISH' rejected with code 'ALREADY_EXISTS': "+
						"Expected to publish a new message with id '%s', but a message with that id was already published", in.MessageID))
					return
				}
				f.with(in.CorrelationKey, func(run *run) {
					if in.TimeToLive > 0 {
						run.keep(in.id())
					} else {
						run.resume(in.id())
					}
				})
				answer(w, http.StatusOK, "application/json", object{"tenantId": "<default>", "messageKey": "2251799813685249"})
			})
		},
	}
}

// camundaCorrelation follows the same; the message is not kept.
func camundaCorrelation() Dialect {
	d := camundaMessage()
	d.Recipe, d.Paths, d.Early = "camunda.correlation", []string{"/v2/messages/correlation", "/oauth/token"}, Refused
	d.Ended, d.Unknown = journal.HandoverNotWaiting, journal.HandoverNotWaiting
	d.New = func(f *Fake) http.Handler {
		return f.camunda("POST /v2/messages/correlation", func(w http.ResponseWriter, in publication) {
			resumed := false
			f.with(in.CorrelationKey, func(run *run) { resumed = run.resume(in.id()) })
			if in.MessageID != "" || in.TimeToLive != 0 { // additionalProperties: false
				problem(w, http.StatusBadRequest, "Bad Request", "Request property [messageId] cannot be parsed")
				return
			}
			if !resumed {
				problem(w, http.StatusNotFound, "NOT_FOUND", "Command 'CORRELATE' rejected with code 'NOT_FOUND': Expected to find subscription for message")
				return
			}
			answer(w, http.StatusOK, "application/json", object{"tenantId": "<default>", "messageKey": "2251799813685250", "processInstanceKey": "2251799813685251"})
		})
	}
	return d
}

// publication is the body of both.
type publication struct {
	Name           string  `json:"name"`
	CorrelationKey string  `json:"correlationKey"`
	MessageID      string  `json:"messageId"`
	TimeToLive     int64   `json:"timeToLive"`
	TenantID       *string `json:"tenantId"`
	Variables      struct {
		Landed message `json:"landed"`
	} `json:"variables"`
}

func (p publication) id() string { return p.Variables.Landed.Data.ResolutionID }

func (p publication) tenant() string {
	if p.TenantID == nil {
		return "<default>"
	}
	return *p.TenantID
}

// camunda is the cluster with its token server.
func (f *Fake) camunda(route string, do func(http.ResponseWriter, publication)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /oauth/token", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("client_id") != camundaClient || r.FormValue("client_secret") != camundaSecret || r.FormValue("audience") != "zeebe.camunda.io" {
			answer(w, http.StatusUnauthorized, "application/json", object{"error": "access_denied"})
			return
		}
		answer(w, http.StatusOK, "application/json", object{"access_token": camundaToken, "expires_in": 300, "token_type": "Bearer"})
	})
	let := func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+camundaToken {
				problem(w, http.StatusUnauthorized, "UNAUTHORIZED", "no valid token")
				return
			}
			next(w, r)
		}
	}
	mux.HandleFunc("GET /v2/topology", let(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, "application/json", object{"brokers": []any{}, "clusterSize": 1})
	}))
	mux.HandleFunc(route, let(func(w http.ResponseWriter, r *http.Request) {
		if !isJSON(r) {
			problem(w, http.StatusUnsupportedMediaType, "Unsupported Media Type", "Content-Type is not supported")
			return
		}
		var in publication
		if !read(r, &in) || in.Name == "" || in.TenantID != nil && *in.TenantID == "" {
			problem(w, http.StatusBadRequest, "INVALID_ARGUMENT", "No name provided")
			return
		}
		do(w, in)
	}))
	return mux
}

func problem(w http.ResponseWriter, status int, title, detail string) {
	answer(w, status, "application/problem+json", object{"type": "about:blank", "title": title, "status": status, "detail": detail})
}
