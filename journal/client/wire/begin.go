package wire

import (
	"encoding/json"
	"time"

	"github.com/landedhq/landed/journal"
)

type beginForm struct {
	Namespace        string            `json:"namespace,omitempty"`
	Key              string            `json:"key"`
	ClaimID          string            `json:"claim_id"`
	Tool             string            `json:"tool"`
	RootRun          string            `json:"root_run"`
	RootRunStartedAt string            `json:"root_run_started_at,omitempty"`
	Turn             string            `json:"turn,omitempty"`
	Run              string            `json:"run,omitempty"`
	Step             string            `json:"step,omitempty"`
	Operation        string            `json:"operation"`
	Subject          string            `json:"subject,omitempty"`
	Amount           string            `json:"amount,omitempty"`
	Currency         string            `json:"currency,omitempty"`
	Labels           map[string]string `json:"labels,omitempty"`
	Args             json.RawMessage   `json:"args,omitempty"`
	ArgsBase64       *string           `json:"args_base64,omitempty"`
	Lease            span              `json:"lease,omitzero"`
	ClientTimeout    span              `json:"client_timeout,omitzero"`
	Resume           json.RawMessage   `json:"resume,omitempty"`
	ResumeBase64     *string           `json:"resume_base64,omitempty"`
	Supersedes       string            `json:"supersedes,omitempty"`
	Compensates      string            `json:"compensates,omitempty"`
	Traceparent      string            `json:"traceparent,omitempty"`
}

// EncodeBegin writes a begin.
func EncodeBegin(r journal.BeginRequest) ([]byte, error) {
	f := beginForm{Namespace: r.Namespace, Key: r.Key, ClaimID: r.ClaimID, Tool: r.Tool, RootRun: r.RootRun, Turn: r.Turn, Run: r.Run,
		Step: r.Step, Operation: r.Operation, Subject: r.Subject, Amount: r.Amount, Currency: r.Currency, Labels: r.Labels,
		Lease: span{d: r.Lease}, ClientTimeout: span{d: r.ClientTimeout}, Supersedes: r.Supersedes, Compensates: r.Compensates, Traceparent: r.Traceparent}
	if !r.RootRunStartedAt.IsZero() {
		f.RootRunStartedAt = r.RootRunStartedAt.Format(time.RFC3339Nano)
	}
	return encode(f, rawMember{"args", r.Args}, rawMember{"resume", r.Resume})
}

// DecodeBegin reads a begin. Worker stays empty: it is the server's to set.
func DecodeBegin(body []byte) (journal.BeginRequest, error) {
	var f beginForm
	if err := readStrict(body, &f, beforeEffect); err != nil {
		return journal.BeginRequest{}, err
	}
	r := journal.BeginRequest{Namespace: f.Namespace, Key: f.Key, ClaimID: f.ClaimID, Tool: f.Tool, RootRun: f.RootRun, Turn: f.Turn, Run: f.Run,
		Step: f.Step, Operation: f.Operation, Subject: f.Subject, Amount: f.Amount, Currency: f.Currency, Labels: f.Labels,
		Supersedes: f.Supersedes, Compensates: f.Compensates, Traceparent: f.Traceparent}
	var err error
	if f.RootRunStartedAt != "" {
		if r.RootRunStartedAt, err = time.Parse(time.RFC3339Nano, f.RootRunStartedAt); err != nil {
			return r, &journal.InvalidError{Field: "root_run_started_at", Detail: "must be a time like 2026-11-30T08:15:00Z"}
		}
	}
	if r.Lease, err = f.Lease.get("lease"); err != nil {
		return r, err
	}
	if r.ClientTimeout, err = f.ClientTimeout.get("client_timeout"); err != nil {
		return r, err
	}
	if r.Args, err = take("args", f.Args, f.ArgsBase64); err != nil {
		return r, err
	}
	r.Resume, err = take("resume", f.Resume, f.ResumeBase64)
	return r, err
}

type beginAnswerForm struct {
	Directive    journal.Directive   `json:"directive"`
	EffectID     string              `json:"effect_id,omitempty"`
	Attempt      int                 `json:"attempt,omitempty"`
	LeaseToken   string              `json:"lease_token,omitempty"`
	LeaseForMS   int64               `json:"lease_for_ms,omitempty"`
	SendByMS     int64               `json:"send_by_ms,omitempty"`
	DeadlineMS   int64               `json:"deadline_ms,omitempty"`
	Ref          string              `json:"ref,omitempty"`
	Issue        int                 `json:"issue,omitempty"`
	ProviderKey  string              `json:"provider_key,omitempty"`
	KeyWindowMS  int64               `json:"key_window_ms,omitempty"`
	OrderID      string              `json:"order_id,omitempty"`
	Args         json.RawMessage     `json:"args,omitempty"`
	ArgsBase64   *string             `json:"args_base64,omitempty"`
	Handles      []journal.Handle    `json:"handles"`
	State        journal.State       `json:"state,omitempty"`
	Result       json.RawMessage     `json:"result,omitempty"`
	ResultBase64 *string             `json:"result_base64,omitempty"`
	ProviderID   string              `json:"provider_id,omitempty"`
	SettledBy    string              `json:"settled_by,omitempty"`
	Refusal      string              `json:"refusal,omitempty"`
	Decision     *journal.Resolution `json:"decision,omitempty"`
	Cursor       int64               `json:"cursor,omitempty"`
	RetryAfterMS int64               `json:"retry_after_ms,omitempty"`
	SinceMS      int64               `json:"since_ms,omitempty"`
	Owner        string              `json:"owner,omitempty"`
	Reason       string              `json:"reason,omitempty"`
	Drift        []journal.FieldDiff `json:"drift,omitempty"`
}

// EncodeBeginAnswer writes the answer of a begin. A return without a recorded
// result says so with a null.
func EncodeBeginAnswer(a journal.BeginAnswer) ([]byte, error) {
	f := beginAnswerForm{Directive: a.Directive, EffectID: a.EffectID, Attempt: a.Attempt, LeaseToken: a.LeaseToken,
		LeaseForMS: floorMS(a.LeaseFor), SendByMS: floorMS(a.SendBy), DeadlineMS: floorMS(a.Deadline), Ref: a.Ref, Issue: a.Issue,
		ProviderKey: a.ProviderKey, KeyWindowMS: floorMS(a.KeyWindow), OrderID: a.OrderID, Handles: a.Handles, State: a.State,
		ProviderID: a.ProviderID, SettledBy: a.SettledBy, Refusal: a.Refusal, Decision: a.Decision, Cursor: a.Cursor,
		RetryAfterMS: ceilMS(a.RetryAfter), SinceMS: floorMS(a.Since), Owner: a.Owner, Reason: a.Reason, Drift: a.Drift}
	if f.KeyWindowMS == 0 && a.KeyWindow > 0 {
		f.KeyWindowMS = 1 // 0 would say that there is no window to mind
	}
	if f.Handles == nil {
		f.Handles = []journal.Handle{}
	}
	out, err := encode(f, rawMember{"args", a.Args}, rawMember{"result", a.Result})
	if err == nil && a.Directive == journal.DirectiveReturn && a.Result == nil {
		out = appendMember(out, "result", []byte("null"))
	}
	return out, err
}

// DecodeBeginAnswer reads the answer of a begin, in a 200 or in a 409 with a
// directive.
func DecodeBeginAnswer(body []byte) (journal.BeginAnswer, error) {
	var f beginAnswerForm
	if err := json.Unmarshal(body, &f); err != nil {
		return journal.BeginAnswer{}, err
	}
	a := journal.BeginAnswer{Directive: f.Directive, EffectID: f.EffectID, Attempt: f.Attempt, LeaseToken: f.LeaseToken,
		LeaseFor: fromMS(f.LeaseForMS), SendBy: fromMS(f.SendByMS), Deadline: fromMS(f.DeadlineMS), Ref: f.Ref, Issue: f.Issue,
		ProviderKey: f.ProviderKey, KeyWindow: fromMS(f.KeyWindowMS), OrderID: f.OrderID, State: f.State,
		ProviderID: f.ProviderID, SettledBy: f.SettledBy, Refusal: f.Refusal, Decision: f.Decision, Cursor: f.Cursor,
		RetryAfter: fromMS(f.RetryAfterMS), Since: fromMS(f.SinceMS), Owner: f.Owner, Reason: f.Reason, Drift: f.Drift}
	if len(f.Handles) > 0 {
		a.Handles = f.Handles
	}
	var err error
	if a.Args, err = take("args", f.Args, f.ArgsBase64); err != nil {
		return a, err
	}
	a.Result, err = take("result", f.Result, f.ResultBase64)
	return a, err
}
