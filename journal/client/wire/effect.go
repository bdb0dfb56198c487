package wire

import (
	"encoding/json"
	"time"

	"github.com/landedhq/landed/journal"
)

// Effect is an effect as it is read: everything but lease tokens and claim ids,
// which are the fence.
type Effect struct {
	ID               string              `json:"id"`
	Namespace        string              `json:"namespace,omitempty"`
	Key              string              `json:"key"`
	Ref              string              `json:"ref"`
	Tool             string              `json:"tool"`
	Class            journal.Class       `json:"class"`
	Provider         string              `json:"provider,omitempty"`
	KeyWindowMS      int64               `json:"key_window_ms,omitempty"`
	ClientTimeoutMS  int64               `json:"client_timeout_ms"`
	RootRun          string              `json:"root_run"`
	RootRunStartedAt time.Time           `json:"root_run_started_at,omitzero"`
	Turn             string              `json:"turn,omitempty"`
	Run              string              `json:"run,omitempty"`
	Step             string              `json:"step,omitempty"`
	Operation        string              `json:"operation"`
	Subject          string              `json:"subject,omitempty"`
	Amount           string              `json:"amount,omitempty"`
	Currency         string              `json:"currency,omitempty"`
	Labels           map[string]string   `json:"labels,omitempty"`
	Args             []byte              `json:"-"` // byte for byte
	Result           []byte              `json:"-"` // byte for byte
	Supersedes       string              `json:"supersedes,omitempty"`
	Compensates      string              `json:"compensates,omitempty"`
	Traceparent      string              `json:"traceparent,omitempty"`
	State            journal.State       `json:"state"`
	Version          int64               `json:"version"`
	Live             bool                `json:"live"` // an attempt owns it now
	Attempt          int                 `json:"attempt"`
	Issue            int                 `json:"issue"`
	ParkedReason     string              `json:"parked_reason,omitempty"`
	RetryAt          time.Time           `json:"retry_at,omitzero"`
	ProviderID       string              `json:"provider_id,omitempty"`
	SettledBy        string              `json:"settled_by,omitempty"`
	Refusal          string              `json:"refusal,omitempty"`
	Contradicted     bool                `json:"contradicted,omitempty"`
	ProbablyDouble   bool                `json:"probably_double,omitempty"`
	Orphan           bool                `json:"orphan,omitempty"`
	GaveUp           bool                `json:"gave_up,omitempty"`
	Drifted          bool                `json:"drifted,omitempty"`
	CreatedAt        time.Time           `json:"created_at"`
	StateAt          time.Time           `json:"state_at"`
	Cursor           int64               `json:"cursor"` // where a poll for the next decision starts
	Decision         *journal.Resolution `json:"decision,omitempty"`
	Order            *Order              `json:"order,omitempty"` // the newest
	Attempts         []Attempt           `json:"attempts"`
	Handles          []journal.Handle    `json:"handles"`
}

// Attempt is one attempt as it is read.
type Attempt struct {
	Number     int           `json:"number"`
	Issue      int           `json:"issue"`
	OrderID    string        `json:"order_id,omitempty"`
	Worker     string        `json:"worker,omitempty"`
	GrantedAt  time.Time     `json:"granted_at"`
	LeaseUntil time.Time     `json:"lease_until"`
	SendBy     time.Time     `json:"send_by"`
	Deadline   time.Time     `json:"deadline"`
	FencedAt   time.Time     `json:"fenced_at,omitzero"`
	Phase      journal.Phase `json:"phase,omitempty"`
	Final      bool          `json:"final,omitempty"`
	ReportedAt time.Time     `json:"reported_at,omitzero"`
	Error      string        `json:"error,omitempty"`
	Status     int           `json:"status,omitempty"`
	Replayed   bool          `json:"replayed,omitempty"`
	ProviderID string        `json:"provider_id,omitempty"`
}

// Order is the permission that a reissue decision made.
type Order struct {
	ID        string              `json:"id"`
	Mode      journal.ReissueMode `json:"mode"`
	Issue     int                 `json:"issue"`
	ExpiresAt time.Time           `json:"expires_at"`
	Attempt   int                 `json:"attempt,omitempty"` // which consumed it
	Ended     string              `json:"ended,omitempty"`
}

// NewEffect shapes a snapshot for reading.
func NewEffect(s *journal.Snapshot) Effect {
	e := &s.Effect
	out := Effect{ID: e.ID, Namespace: e.Namespace, Key: e.Key, Ref: e.Ref, Tool: e.Tool, Class: e.Class, Provider: e.Provider,
		KeyWindowMS: floorMS(e.KeyWindow), ClientTimeoutMS: floorMS(e.ClientTimeout), RootRun: e.RootRun, RootRunStartedAt: e.RootRunStartedAt,
		Turn: e.Turn, Run: e.Run, Step: e.Step, Operation: e.Operation, Subject: e.Subject, Amount: e.Amount, Currency: e.Currency,
		Labels: e.Labels, Args: e.Args, Result: e.Result, Supersedes: e.Supersedes, Compensates: e.Compensates, Traceparent: e.Traceparent,
		State: e.State, Version: e.Version, Live: s.Live(), Attempt: e.Attempt, Issue: e.Issue, ParkedReason: e.ParkedReason, RetryAt: e.RetryAt,
		ProviderID: e.ProviderID, SettledBy: e.SettledBy, Refusal: e.Refusal, Contradicted: e.Contradicted, ProbablyDouble: e.ProbablyDouble,
		Orphan: e.Orphan, GaveUp: e.GaveUp, Drifted: e.Drifted, CreatedAt: e.CreatedAt, StateAt: e.StateAt,
		Cursor: s.Cursor, Decision: s.Newest, Attempts: []Attempt{}, Handles: s.Handles}
	if out.Handles == nil {
		out.Handles = []journal.Handle{}
	}
	if o := s.Order; o != nil {
		out.Order = &Order{ID: o.ID, Mode: o.Mode, Issue: o.Issue, ExpiresAt: o.ExpiresAt, Attempt: o.Attempt, Ended: o.Ended}
	}
	for _, a := range s.Attempts {
		out.Attempts = append(out.Attempts, Attempt{Number: a.Number, Issue: a.Issue, OrderID: a.OrderID, Worker: a.Worker,
			GrantedAt: a.GrantedAt, LeaseUntil: a.LeaseUntil, SendBy: a.SendBy, Deadline: a.Deadline, FencedAt: a.FencedAt,
			Phase: a.Phase, Final: a.Final, ReportedAt: a.ReportedAt, Error: a.Error, Status: a.Status, Replayed: a.Replayed, ProviderID: a.ProviderID})
	}
	return out
}

// EncodeEffect writes an effect.
func EncodeEffect(e Effect) ([]byte, error) {
	return encode(e, rawMember{"args", e.Args}, rawMember{"result", e.Result})
}

// DecodeEffect reads an effect.
func DecodeEffect(body []byte) (Effect, error) {
	var raw struct {
		Args         json.RawMessage `json:"args"`
		ArgsBase64   *string         `json:"args_base64"`
		Result       json.RawMessage `json:"result"`
		ResultBase64 *string         `json:"result_base64"`
	}
	var e Effect
	err := json.Unmarshal(body, &e)
	if err == nil {
		err = json.Unmarshal(body, &raw)
	}
	if err == nil {
		e.Args, err = take("args", raw.Args, raw.ArgsBase64)
	}
	if err == nil {
		e.Result, err = take("result", raw.Result, raw.ResultBase64)
	}
	return e, err
}
