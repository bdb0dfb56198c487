package landedmcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What a tool may say in the _meta of its result, where it can't return an
// error of package worker: how far a failed call got ("not_sent", "refused" or
// "sent"), whether a refusal is final (default true), when trying again makes
// sense, and the provider's id of what was made.
const (
	MetaPhase        = "landed/phase"
	MetaFinal        = "landed/final"
	MetaRetryAfterMS = "landed/retry_after_ms"
	MetaProviderID   = "landed/provider_id"
)

// outcome reads what a tool returned. Only a result that is no error confirms;
// an error proves nothing unless the tool, or the worker's transport, says how
// far it got.
func (f *Front) outcome(fl *flight, res mcp.Result, err error) (worker.Outcome, error) {
	if err != nil {
		return worker.Outcome{}, err
	}
	r, ok := res.(*mcp.CallToolResult)
	if !ok || r == nil {
		return worker.Outcome{}, fmt.Errorf("the tool returned a %T instead of a result", res)
	}
	if r.NeedsInput() || r.InputRequests != nil {
		if !fl.tool.AsksFirst {
			return worker.Outcome{}, errors.New("the tool asked for input in the middle of the call: whether it did something before is not known")
		}
		fl.asks(r)
		// Soon again: the client answers by calling again.
		return worker.Outcome{}, &worker.Failure{Err: errInput, Verdict: worker.Verdict{Phase: journal.PhaseNotSent, RetryAfter: time.Millisecond}}
	}
	if nested(r) {
		return worker.Outcome{}, errors.New("the tool's server is journaled itself, and its answer is not that it is done: only one of the two may journal a tool")
	}
	if err := failure(r); err != nil {
		return worker.Outcome{}, err
	}
	if fl.tool.Judge != nil {
		if err := fl.tool.Judge(r); err != nil {
			return worker.Outcome{}, err
		}
	}
	return f.confirmed(fl.tool, r), nil
}

// nested reports whether a result is another Front's answer that something is
// not done: recorded as a success it would stand for an effect that nobody had.
func nested(r *mcp.CallToolResult) bool {
	v, ok := r.Meta[MetaAnswer]
	if !ok {
		return false
	}
	var said struct{ Status worker.Status }
	raw, err := json.Marshal(v)
	return err != nil || json.Unmarshal(raw, &said) != nil || said.Status != worker.StatusDone
}

// failure is the error that a result stands for, or nil.
func failure(r *mcp.CallToolResult) error {
	phase, said := r.Meta[MetaPhase].(string)
	if !r.IsError && (!said || phase == string(journal.PhaseConfirmed)) {
		return nil
	}
	cause := r.GetError() // the handler's own, if it ran in this process
	var known *worker.Failure
	if errors.As(cause, &known) {
		return cause
	}
	if cause == nil {
		cause = errors.New(text(r))
	}
	v := worker.Verdict{Phase: journal.Phase(phase)}
	if ms, ok := number(r.Meta[MetaRetryAfterMS]); ok && ms > 0 {
		v.RetryAfter = time.Duration(ms) * time.Millisecond
	}
	switch v.Phase {
	case journal.PhaseNotSent:
	case journal.PhaseRefused:
		final, given := r.Meta[MetaFinal].(bool)
		v.Final, v.Meaning = final || !given, worker.MeaningRefused
	case journal.PhaseSent:
	default:
		return cause // the worker's own record decides
	}
	return &worker.Failure{Verdict: v, Err: cause}
}

// number reads a JSON number, or one that a tool in this process set.
func number(v any) (int64, bool) {
	switch n := v.(type) {
	case float64:
		return int64(n), true
	case int:
		return int64(n), true
	case int64:
		return n, true
	}
	return 0, false
}

// text joins the text of a result.
func text(r *mcp.CallToolResult) string {
	var parts []string
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok && t.Text != "" {
			parts = append(parts, t.Text)
		}
	}
	if len(parts) == 0 {
		return "the tool reported an error without a text"
	}
	return strings.Join(parts, "\n")
}

// confirmed is what is recorded of a success.
func (f *Front) confirmed(t *Tool, r *mcp.CallToolResult) worker.Outcome {
	raw, err := record(r)
	if err != nil { // it happened all the same
		f.log.Error("the tool's result can't be recorded: the effect is committed without it", "tool", t.Name, "error", err)
	}
	out := worker.Outcome{Result: raw}
	out.ProviderID, _ = r.Meta[MetaProviderID].(string)
	if t.ProviderID != nil {
		if id := t.ProviderID(r); id != "" {
			out.ProviderID = id
		}
	}
	return out
}

// recorded is the form in which a result is kept: what belongs to the transport
// of one answer is left out.
type recorded struct {
	Meta              map[string]json.RawMessage `json:"_meta,omitempty"`
	Content           []json.RawMessage          `json:"content"`
	StructuredContent json.RawMessage            `json:"structuredContent,omitempty"`
}

func record(r *mcp.CallToolResult) ([]byte, error) {
	keep := struct {
		Meta              mcp.Meta      `json:"_meta,omitempty"`
		Content           []mcp.Content `json:"content"`
		StructuredContent any           `json:"structuredContent,omitempty"`
	}{r.Meta, r.Content, r.StructuredContent}
	if keep.Content == nil {
		keep.Content = []mcp.Content{}
	}
	return json.Marshal(keep)
}

// replay makes a result of what was recorded, so that it is sent byte for byte
// as it was the first time. false: it is not a result of a tool.
func replay(raw []byte) (*mcp.CallToolResult, bool) {
	var r recorded
	if json.Unmarshal(raw, &r) != nil || r.Content == nil {
		return nil, false
	}
	res := &mcp.CallToolResult{Content: make([]mcp.Content, 0, len(r.Content))}
	for _, c := range r.Content {
		res.Content = append(res.Content, content(c))
	}
	if len(r.StructuredContent) > 0 {
		res.StructuredContent = r.StructuredContent
	}
	for name, v := range r.Meta {
		if res.Meta == nil {
			res.Meta = mcp.Meta{}
		}
		res.Meta[name] = v
	}
	return res, true
}

// content reads one block. One that the SDK would write in another way is
// carried as it is.
func content(raw json.RawMessage) mcp.Content {
	var one mcp.CallToolResult
	wrapped := append(append([]byte(`{"content":[`), raw...), `]}`...)
	if json.Unmarshal(wrapped, &one) == nil && len(one.Content) == 1 {
		if again, err := json.Marshal(one.Content[0]); err == nil && string(again) == string(raw) {
			return one.Content[0]
		}
	}
	return &rawContent{Content: &mcp.TextContent{}, raw: raw}
}

// rawContent is a block that is sent as it was recorded.
type rawContent struct {
	mcp.Content // for the methods that only the SDK can name
	raw         json.RawMessage
}

func (c *rawContent) MarshalJSON() ([]byte, error) { return c.raw, nil }
