package temporal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/resume"
)

// identity is who sent it, in the workflow's history.
const identity = "landed"

// stageAccepted makes the server wait until the workflow took the update or
// refused it; a handler that is done by then has its result in the same answer.
const stageAccepted = "UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED"

// Target is one namespace at one Temporal service. Config.Open makes it.
type Target struct {
	cfg    Config
	base   *url.URL
	client *http.Client
}

var (
	_ resume.Target = (*Target)(nil)
	_ resume.Prober = (*Target)(nil)
)

// Name implements resume.Target.
func (t *Target) Name() string { return t.cfg.Name }

// Sheet implements resume.Target.
func (t *Target) Sheet() resume.Sheet {
	return resume.Sheet{
		Kind: "temporal", Dedupes: true, Buffers: true, Confirms: true,
		Residual: "A signal is kept until the workflow looks and is never confirmed; an update needs a running worker and confirms if the handler says resumed. " +
			"Temporal forgets the ids that it has seen at a reset and at continue-as-new: a message repeated across one arrives again with the same resolution_id.",
	}
}

// execution names a run in a request's body; the workflow's id is in the path.
type execution struct {
	RunID string `json:"runId,omitempty"`
}

// signalBody and updateBody are the JSON forms of SignalWorkflowExecutionRequest
// and UpdateWorkflowExecutionRequest. A payload may be written as plain JSON, which
// the server stores as encoding json/plain.
type signalBody struct {
	Execution execution        `json:"workflowExecution"`
	Input     []resume.Payload `json:"input"`
	Identity  string           `json:"identity"`
	RequestID string           `json:"requestId"`
}

type updateBody struct {
	Execution  execution     `json:"workflowExecution"`
	FirstRunID string        `json:"firstExecutionRunId,omitempty"`
	WaitPolicy waitPolicy    `json:"waitPolicy"`
	Request    updateRequest `json:"request"`
}

type waitPolicy struct {
	Stage string `json:"lifecycleStage"`
}

type updateRequest struct {
	Meta  updateMeta  `json:"meta"`
	Input updateInput `json:"input"`
}

type updateMeta struct {
	UpdateID string `json:"updateId"`
	Identity string `json:"identity"`
}

type updateInput struct {
	Args []resume.Payload `json:"args"`
}

// Deliver implements resume.Target.
func (t *Target) Deliver(ctx context.Context, m resume.Message) (resume.Receipt, error) {
	a, err := parseAddress(m.Resume)
	if err != nil {
		return resume.Receipt{}, resume.Fail(journal.HandoverBadAddress, "%w", err)
	}
	at := execution{RunID: a.RunID}
	if a.Update != "" {
		body := updateBody{Execution: at, FirstRunID: a.FirstRunID, WaitPolicy: waitPolicy{stageAccepted}, Request: updateRequest{
			Meta: updateMeta{m.ID, identity}, Input: updateInput{[]resume.Payload{m.Payload()}}}}
		answer, err := t.post(ctx, body, "workflows", a.WorkflowID, "update", a.Update)
		if err != nil {
			return resume.Receipt{}, err
		}
		return updateReceipt(a, answer)
	}
	body := signalBody{Execution: at, Input: []resume.Payload{m.Payload()}, Identity: identity, RequestID: m.ID}
	if _, err := t.post(ctx, body, "workflows", a.WorkflowID, "signal", a.Signal); err != nil {
		return resume.Receipt{}, err
	}
	return resume.Receipt{Detail: fmt.Sprintf("signal %q is in the history of workflow %s", a.Signal, a.WorkflowID)}, nil
}

// Probe implements resume.Prober: it signals a workflow that can't exist. Only a
// server that is reached, lets Landed in, allows signals and knows the namespace
// answers that there is none.
func (t *Target) Probe(ctx context.Context) error {
	id := "landed-check-" + journal.NewToken()
	body := signalBody{Input: []resume.Payload{}, Identity: identity, RequestID: id}
	_, err := t.post(ctx, body, "workflows", id, "signal", DefaultSignal)
	switch f := asFailure(err); {
	case f == nil:
		return fmt.Errorf("temporal: %s took a signal for a workflow that does not exist: this is no Temporal server", t.base.Host)
	case f.Outcome == journal.HandoverUnknown:
		return nil
	default:
		return fmt.Errorf("temporal: asking %s: %w", t.base.Host, f)
	}
}

// post makes one call and returns the body of its good answer. The error is a
// *resume.Failure.
func (t *Target) post(ctx context.Context, body any, path ...string) ([]byte, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, resume.Fail(journal.HandoverTransient, "writing the request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url(path), bytes.NewReader(raw))
	if err != nil {
		return nil, resume.Fail(journal.HandoverTransient, "making the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	// The server gives up a little earlier than we do, and says why.
	req.Header.Set("Grpc-Timeout", fmt.Sprintf("%dm", max(t.cfg.Timeout-time.Second, t.cfg.Timeout/2).Milliseconds()))
	if t.cfg.APIKey != nil {
		key, err := t.cfg.APIKey()
		if err != nil {
			return nil, resume.Fail(journal.HandoverAuth, "reading the API key: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return nil, resume.Fail(journal.HandoverTransient, "calling Temporal: %w", withoutURL(err))
	}
	defer resp.Body.Close() //nolint:errcheck // nothing more is wanted of it
	return readAnswer(resp)
}

// url joins the API's address.
func (t *Target) url(path []string) string {
	u := t.base.String() + "/api/v1/namespaces/" + segment(t.cfg.Namespace)
	for _, p := range path {
		u += "/" + segment(p)
	}
	return u
}

// segment escapes a value for the path, with every character that a router could
// read: colons begin the verb of a custom method, dots walk up. A slash gets lost
// all the same: the server's gateway unescapes the path before it takes it apart.
func segment(s string) string {
	escaped := strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
	if s == "." || s == ".." {
		escaped = strings.ReplaceAll(s, ".", "%2E")
	}
	return escaped
}
