package temporal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/resume"
)

// maxAnswer caps what is read of an answer; Temporal's are a few hundred bytes.
const maxAnswer = 64 << 10

// The gRPC codes that the HTTP API's errors carry (google/rpc/code.proto).
const (
	codeInvalidArgument    = 3
	codeNotFound           = 5
	codePermissionDenied   = 7
	codeFailedPrecondition = 9
	codeUnimplemented      = 12
	codeUnauthenticated    = 16
)

// status is an error of the HTTP API: google.rpc.Status.
type status struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Details []struct {
		Type string `json:"@type"`
	} `json:"details"`
}

func (s status) has(detail string) bool {
	return slices.ContainsFunc(s.Details, func(d struct {
		Type string `json:"@type"`
	}) bool {
		return strings.HasSuffix(d.Type, "."+detail)
	})
}

func readAnswer(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode == http.StatusOK {
		if err != nil {
			return nil, resume.Fail(journal.HandoverTransient, "reading Temporal's answer: %w", err)
		}
		return body, nil
	}
	return nil, refusal(resp.StatusCode, resp.Header, body)
}

// refusal types an error of the server, or of whatever answers in its place.
func refusal(code int, header http.Header, body []byte) *resume.Failure {
	var s status
	if err := json.Unmarshal(body, &s); err != nil || s.Code == 0 {
		return foreign(code, header)
	}
	outcome := outcomeOf(s)
	f := resume.Fail(outcome, "Temporal answered %d: %s", code, s.Message)
	f.RetryAfter = retryAfter(header)
	return f
}

// outcomeOf reads a status. Messages are compared where the code and the details
// don't tell cases apart.
func outcomeOf(s status) journal.HandoverOutcome {
	says := func(words string) bool { return strings.Contains(strings.ToLower(s.Message), words) }
	switch s.Code {
	case codeUnauthenticated, codePermissionDenied:
		return journal.HandoverAuth
	case codeNotFound:
		switch {
		case s.has("NamespaceNotFoundFailure"), says("namespace") && says("not found"):
			// Not "unknown": a namespace does not appear by waiting. It is ours to
			// configure, as the credentials are, and Temporal Cloud does not tell them apart.
			return journal.HandoverAuth
		case says("already completed"):
			return journal.HandoverGone
		}
		return journal.HandoverUnknown
	case codeInvalidArgument:
		switch {
		case says("blob data size exceeds"), says("too large"), says("message larger than"):
			return journal.HandoverTooLarge
		case says("limit for signal events"), says("history size exceeds"), says("history count exceeds"), says("mutable state size exceeds"):
			return journal.HandoverNotWaiting // this run takes no more; the next one will
		}
		return journal.HandoverBadAddress
	case codeFailedPrecondition:
		return journal.HandoverNotWaiting // paused, its task fails, or its updates are used up
	case codeUnimplemented:
		return journal.HandoverBadAddress // a server from before updates
	}
	return journal.HandoverTransient
}

// foreign types an answer that is not Temporal's: a proxy's, or another server's.
func foreign(code int, header http.Header) *resume.Failure {
	outcome := journal.HandoverTransient
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		outcome = journal.HandoverAuth
	case http.StatusRequestEntityTooLarge:
		outcome = journal.HandoverTooLarge
	}
	f := resume.Fail(outcome, "the answer %d is not one of Temporal's HTTP API: what stands at the address?", code)
	f.RetryAfter = retryAfter(header)
	return f
}

// updateAnswer is UpdateWorkflowExecutionResponse, of which the handler's result
// is read as plain JSON.
type updateAnswer struct {
	Stage   string `json:"stage"`
	Outcome *struct {
		Success []json.RawMessage `json:"success"`
		Failure *struct {
			Message string `json:"message"`
		} `json:"failure"`
	} `json:"outcome"`
}

func updateReceipt(a address, body []byte) (resume.Receipt, error) {
	var u updateAnswer
	if err := json.Unmarshal(body, &u); err != nil {
		return resume.Receipt{}, resume.Fail(journal.HandoverTransient, "Temporal's answer to the update can't be read: %w", err)
	}
	switch {
	case u.Outcome != nil && u.Outcome.Failure != nil:
		return resume.Receipt{}, resume.Fail(journal.HandoverNotWaiting, "workflow %s refused update %q: %s", a.WorkflowID, a.Update, u.Outcome.Failure.Message)
	case u.Outcome != nil:
		if resumed(u.Outcome.Success) {
			return resume.Receipt{Resumed: true, Detail: fmt.Sprintf("workflow %s answered update %q: it goes on", a.WorkflowID, a.Update)}, nil
		}
		return resume.Receipt{Detail: fmt.Sprintf("workflow %s took update %q", a.WorkflowID, a.Update)}, nil
	case u.Stage == stageAccepted:
		return resume.Receipt{Detail: fmt.Sprintf("workflow %s accepted update %q", a.WorkflowID, a.Update)}, nil
	}
	return resume.Receipt{}, resume.Fail(journal.HandoverTransient, "no worker took update %q of workflow %s in time", a.Update, a.WorkflowID)
}

// resumed is whether the handler said so: {"resumed": true}.
func resumed(results []json.RawMessage) bool {
	if len(results) != 1 {
		return false
	}
	var r struct {
		Resumed bool `json:"resumed"`
	}
	return json.Unmarshal(results[0], &r) == nil && r.Resumed
}

func asFailure(err error) *resume.Failure {
	var f *resume.Failure
	if errors.As(err, &f) {
		return f
	}
	return nil
}

func retryAfter(h http.Header) time.Duration {
	s, err := strconv.Atoi(strings.TrimSpace(h.Get("Retry-After")))
	if err != nil || s < 0 {
		return 0
	}
	return time.Duration(s) * time.Second
}

// withoutURL takes the address off an error: the host is known, and a proxy's path
// may be a secret.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
