package temporal

import (
	"net/http"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
)

// Statuses as the server's sources make them; server_test.go sees those that a
// development server can be brought to give.
func TestRefusalsAreTyped(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		code int
		body string
		want journal.HandoverOutcome
	}{
		{"completed", 404, `{"code":5,"message":"workflow execution already completed","details":[{"@type":"type.googleapis.com/temporal.api.errordetails.v1.NotFoundFailure"}]}`, journal.HandoverGone},
		{"no such id", 404, `{"code":5,"message":"workflow not found for ID: w"}`, journal.HandoverUnknown},
		{"another chain", 404, `{"code":5,"message":"workflow execution not found"}`, journal.HandoverUnknown},
		{"no such namespace", 404, `{"code":5,"message":"Namespace x is not found.","details":[{"@type":"type.googleapis.com/temporal.api.errordetails.v1.NamespaceNotFoundFailure"}]}`, journal.HandoverAuth},
		{"unauthenticated", 401, `{"code":16,"message":"invalid token"}`, journal.HandoverAuth},
		{"unauthorized", 403, `{"code":7,"message":"Request unauthorized."}`, journal.HandoverAuth},
		{"host", 403, `{"code": 7, "message": "Host not allowed"}`, journal.HandoverAuth},
		{"blob", 400, `{"code":3,"message":"Blob data size exceeds limit."}`, journal.HandoverTooLarge},
		{"body", 400, `{"code":3,"message":"http: request body too large"}`, journal.HandoverTooLarge},
		{"signals used up", 400, `{"code":3,"message":"exceeded workflow execution limit for signal events"}`, journal.HandoverNotWaiting},
		{"updates used up", 400, `{"code":9,"message":"The limit on the total number of distinct updates in this workflow has been reached (2000)."}`, journal.HandoverNotWaiting},
		{"its task fails", 400, `{"code":9,"message":"Unable to perform workflow execution update due to Workflow Task in failed state."}`, journal.HandoverNotWaiting},
		{"run id", 400, `{"code":3,"message":"Invalid RunId."}`, journal.HandoverBadAddress},
		{"no updates yet", 501, `{"code":12,"message":"unknown method"}`, journal.HandoverBadAddress},
		{"busy", 429, `{"code":8,"message":"Workflow is busy."}`, journal.HandoverTransient},
		{"closing", 429, `{"code":8,"message":"workflow operation can not be applied because workflow is closing"}`, journal.HandoverTransient},
		{"down", 503, `{"code":14,"message":"unavailable"}`, journal.HandoverTransient},
		{"late", 504, `{"code":4,"message":"context deadline exceeded"}`, journal.HandoverTransient},
		{"a proxy's page", 502, `<html>`, journal.HandoverTransient},
		{"another server", 404, `{"error":"not here"}`, journal.HandoverTransient},
		{"a proxy wants a login", 401, `<html>`, journal.HandoverAuth},
		{"a proxy's limit", 413, ``, journal.HandoverTooLarge},
		{"a redirect", 302, ``, journal.HandoverTransient},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := refusal(row.code, http.Header{"Retry-After": {"7"}}, []byte(row.body))
			if got.Outcome != row.want {
				t.Errorf("outcome %s, want %s (%v)", got.Outcome, row.want, got)
			}
			if got.RetryAfter != 7*time.Second {
				t.Errorf("retry after %v, want 7s", got.RetryAfter)
			}
		})
	}
}

func TestUpdateAnswersAreTyped(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, body string
		resumed    bool
		want       journal.HandoverOutcome // "" = a receipt
	}{
		{"the handler says resumed", `{"stage":"UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED","outcome":{"success":[{"resumed":true}]}}`, true, ""},
		{"the handler says not", `{"outcome":{"success":[{"resumed":false}]}}`, false, ""},
		{"the handler says something else", `{"outcome":{"success":["yes"]}}`, false, ""},
		{"the handler says nothing", `{"outcome":{"success":[]}}`, false, ""},
		{"accepted only", `{"stage":"UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED"}`, false, ""},
		{"no handler of that name", `{"outcome":{"failure":{"message":"unknown update landed. KnownUpdates=[]"}}}`, false, journal.HandoverNotWaiting},
		{"no worker", `{"stage":"UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ADMITTED"}`, false, journal.HandoverTransient},
		{"empty", `{}`, false, journal.HandoverTransient},
		{"no JSON", `<html>`, false, journal.HandoverTransient},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r, err := updateReceipt(address{WorkflowID: "w", Update: "u"}, []byte(row.body))
			if row.want == "" {
				if err != nil || r.Resumed != row.resumed {
					t.Errorf("%+v, %v; want resumed %v", r, err, row.resumed)
				}
				return
			}
			if f := asFailure(err); f == nil || f.Outcome != row.want {
				t.Errorf("%v, want outcome %s", err, row.want)
			}
		})
	}
}
