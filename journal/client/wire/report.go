package wire

import (
	"encoding/json"

	"github.com/landedhq/landed/journal"
)

// leaseForm says which attempt a call speaks of; the effect's id is in the
// address.
type leaseForm struct {
	Attempt    int    `json:"attempt"`
	LeaseToken string `json:"lease_token"`
}

// reportForm repeats what begin was told, so that a report survives the loss of
// the row.
type reportForm struct {
	leaseForm
	Key       string `json:"key"`
	Namespace string `json:"namespace,omitempty"`
	Tool      string `json:"tool"`
}

func reportOf(r journal.Report) reportForm {
	return reportForm{leaseForm{r.Attempt, r.LeaseToken}, r.Key, r.Namespace, r.Tool}
}

func (f reportForm) report(effectID string) journal.Report {
	return journal.Report{EffectID: effectID, Attempt: f.Attempt, LeaseToken: f.LeaseToken, Key: f.Key, Namespace: f.Namespace, Tool: f.Tool}
}

type commitForm struct {
	reportForm
	Result       json.RawMessage `json:"result,omitempty"`
	ResultBase64 *string         `json:"result_base64,omitempty"`
	ProviderID   string          `json:"provider_id,omitempty"`
	Replayed     bool            `json:"replayed,omitempty"`
}

// EncodeCommit writes a commit.
func EncodeCommit(r journal.CommitRequest) ([]byte, error) {
	return encode(commitForm{reportForm: reportOf(r.Report), ProviderID: r.ProviderID, Replayed: r.Replayed}, rawMember{"result", r.Result})
}

// DecodeCommit reads a commit on the effect of the address.
func DecodeCommit(effectID string, body []byte) (journal.CommitRequest, error) {
	var f commitForm
	if err := readStrict(body, &f, afterEffect); err != nil {
		return journal.CommitRequest{}, err
	}
	r := journal.CommitRequest{Report: f.report(effectID), ProviderID: f.ProviderID, Replayed: f.Replayed}
	var err error
	r.Result, err = take("result", f.Result, f.ResultBase64)
	return r, err
}

type commitAnswerForm struct {
	EffectID     string        `json:"effect_id"`
	State        journal.State `json:"state"`
	Late         bool          `json:"late"`
	Contradicted bool          `json:"contradicted"`
	Double       bool          `json:"probably_double"`
	Orphan       bool          `json:"orphan"`
}

// EncodeCommitAnswer writes what became of a commit.
func EncodeCommitAnswer(a journal.CommitAnswer) ([]byte, error) {
	return json.Marshal(commitAnswerForm(a))
}

// DecodeCommitAnswer reads what became of a commit, in a 200 or in a conflict.
func DecodeCommitAnswer(body []byte) (journal.CommitAnswer, error) {
	var f commitAnswerForm
	err := json.Unmarshal(body, &f)
	return journal.CommitAnswer(f), err
}

type failForm struct {
	reportForm
	Phase      journal.Phase `json:"phase"`
	Final      bool          `json:"final,omitempty"`
	Error      string        `json:"error,omitempty"`
	Status     int           `json:"status,omitempty"`
	RetryAfter span          `json:"retry_after,omitzero"`
	Replayed   bool          `json:"replayed,omitempty"`
}

// EncodeFail writes a fail report.
func EncodeFail(r journal.FailRequest) ([]byte, error) {
	return encode(failForm{reportForm: reportOf(r.Report), Phase: r.Phase, Final: r.Final, Error: r.Error, Status: r.Status,
		RetryAfter: span{d: r.RetryAfter}, Replayed: r.Replayed})
}

// DecodeFail reads a fail report on the effect of the address.
func DecodeFail(effectID string, body []byte) (journal.FailRequest, error) {
	var f failForm
	if err := readStrict(body, &f, afterEffect); err != nil {
		return journal.FailRequest{}, err
	}
	r := journal.FailRequest{Report: f.report(effectID), Phase: f.Phase, Final: f.Final, Error: f.Error, Status: f.Status, Replayed: f.Replayed}
	var err error
	r.RetryAfter, err = f.RetryAfter.get("retry_after")
	return r, err
}

type failAnswerForm struct {
	EffectID     string            `json:"effect_id"`
	Directive    journal.Directive `json:"directive"`
	RetryAfterMS int64             `json:"retry_after_ms,omitempty"`
	Reason       string            `json:"reason,omitempty"`
	Cursor       int64             `json:"cursor,omitempty"`
	State        journal.State     `json:"state,omitempty"`
}

// EncodeFailAnswer writes what follows from a fail report.
func EncodeFailAnswer(a journal.FailAnswer) ([]byte, error) {
	return json.Marshal(failAnswerForm{a.EffectID, a.Directive, ceilMS(a.RetryAfter), a.Reason, a.Cursor, a.State})
}

// DecodeFailAnswer reads what follows from a fail report.
func DecodeFailAnswer(body []byte) (journal.FailAnswer, error) {
	var f failAnswerForm
	err := json.Unmarshal(body, &f)
	return journal.FailAnswer{EffectID: f.EffectID, Directive: f.Directive, RetryAfter: fromMS(f.RetryAfterMS), Reason: f.Reason,
		Cursor: f.Cursor, State: f.State}, err
}

// EncodeHeartbeat writes a heartbeat.
func EncodeHeartbeat(r journal.Report) ([]byte, error) {
	return json.Marshal(leaseForm{r.Attempt, r.LeaseToken})
}

// DecodeHeartbeat reads a heartbeat on the effect of the address.
func DecodeHeartbeat(effectID string, body []byte) (journal.Report, error) {
	var f leaseForm
	err := readStrict(body, &f, beforeEffect)
	return journal.Report{EffectID: effectID, Attempt: f.Attempt, LeaseToken: f.LeaseToken}, err
}

type heartbeatAnswerForm struct {
	LeaseForMS int64 `json:"lease_for_ms"`
}

// EncodeHeartbeatAnswer writes a renewed lease.
func EncodeHeartbeatAnswer(a journal.HeartbeatAnswer) ([]byte, error) {
	return json.Marshal(heartbeatAnswerForm{floorMS(a.LeaseFor)})
}

// DecodeHeartbeatAnswer reads a renewed lease.
func DecodeHeartbeatAnswer(body []byte) (journal.HeartbeatAnswer, error) {
	var f heartbeatAnswerForm
	err := json.Unmarshal(body, &f)
	return journal.HeartbeatAnswer{LeaseFor: fromMS(f.LeaseForMS)}, err
}

type handleForm struct {
	leaseForm
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

// EncodeHandle writes a handle.
func EncodeHandle(r journal.HandleRequest) ([]byte, error) {
	return json.Marshal(handleForm{leaseForm{r.Attempt, r.LeaseToken}, r.Kind, r.Value})
}

// DecodeHandle reads a handle for the effect of the address.
func DecodeHandle(effectID string, body []byte) (journal.HandleRequest, error) {
	var f handleForm
	err := readStrict(body, &f, beforeEffect)
	return journal.HandleRequest{Report: journal.Report{EffectID: effectID, Attempt: f.Attempt, LeaseToken: f.LeaseToken},
		Kind: f.Kind, Value: f.Value}, err
}
