package landedmcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MetaAnswer is where every result of a journaled tool carries what the journal
// says of the call, without the recorded result.
const MetaAnswer = "landed/answer"

// answerMember is the one member of the structured content of an answer that is
// not the tool's own result.
const answerMember = "landed"

// Reasons of this package, beside those of packages worker and journal.
const (
	reasonNoKey        = "key_missing"
	reasonBadKey       = "key_invalid"
	reasonUndeclared   = "tool_undeclared"
	reasonStillRunning = "still_running"
	reasonEarlierOpen  = "earlier_call_open"
	reasonEarlierEnded = "earlier_call_unheard"
	reasonCalledBefore = "called_before"
)

// askAgainAfter is when a client that was answered early should ask again.
const askAgainAfter = 5 * time.Second

// The notes are read by models: each says what not to do.
const (
	noteStillRunning = "It was started and still runs; its outcome is not known yet. Do not start it in another way and do not change the arguments: ask again with the same call later."
	noteNoKey        = "Not executed: the client sent nothing that tells this effect from another one, so a retry could do it twice. Calling again will not help: report this to whoever runs the client."
	noteBadArgs      = "Not executed and not recorded: correct what the problems say and call again."
	noteUndeclared   = "Not executed: this tool is not set up for the journal. Calling again will not help: report this to whoever runs the server."
)

// refusal is the answer for a call that never reaches the journal, for reasons
// that only the people who run client or server can mend.
func (f *Front) refusal(reason string, problems ...string) worker.Answer {
	a := worker.Answer{Status: worker.StatusHardStop, Note: noteNoKey, Reason: reason, Problems: problems, Directive: journal.DirectiveHardStop}
	if reason == reasonUndeclared {
		a.Note = noteUndeclared
	}
	return a
}

// wireAnswer is an answer with what is known only here.
type wireAnswer struct {
	worker.Answer
	link    string
	retryAt time.Time
}

func (f *Front) wire(a worker.Answer) wireAnswer {
	w := wireAnswer{Answer: a}
	if f.cfg.Desk != "" && a.EffectID != "" {
		w.link = f.cfg.Desk + "/e/" + a.EffectID
	}
	if a.RetryAfter > 0 && !a.Settled() {
		w.retryAt = time.Now().Add(a.RetryAfter).UTC().Truncate(time.Second)
	}
	return w
}

// MarshalJSON adds link and retry_at to the answer's own form.
func (w wireAnswer) MarshalJSON() ([]byte, error) {
	raw, err := json.Marshal(w.Answer)
	if err != nil {
		return nil, err
	}
	more := struct {
		Link    string `json:"link,omitempty"`
		RetryAt string `json:"retry_at,omitempty"`
	}{Link: w.link}
	if !w.retryAt.IsZero() {
		more.RetryAt = w.retryAt.Format(time.RFC3339)
	}
	extra, err := json.Marshal(more)
	if err != nil || len(extra) == len("{}") {
		return raw, err
	}
	return append(append(raw[:len(raw)-1], ','), extra[1:]...), nil
}

// render makes the result for the client. A recorded result of the tool is sent
// as it was; anything else is the answer, as structured content and as a
// sentence.
func (f *Front) render(a worker.Answer, fl *flight) *mcp.CallToolResult {
	w := f.wire(a)
	if a.Status == worker.StatusDone && !remarkable(a) {
		if res, ok := replay(a.Result); ok {
			mark(res, w)
			return res
		}
	}
	res := &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: w.sentence()}},
		StructuredContent: map[string]any{answerMember: w},
		IsError:           nothingDone(a.Status),
	}
	mark(res, w)
	return res
}

// remarkable answers are done, and there is more to say than the result does.
func remarkable(a worker.Answer) bool {
	return a.Reason == "done_unrecorded" || a.Reason == reasonCalledBefore
}

// nothingDone: the protocol's error flag is for calls that certainly did
// nothing. An unknown outcome is no error: clients and models answer errors by
// trying again.
func nothingDone(s worker.Status) bool {
	switch s {
	case worker.StatusRefused, worker.StatusReplan, worker.StatusHardStop, worker.StatusAbandoned:
		return true
	}
	return false
}

// mark puts the answer into the metadata of a result.
func mark(res *mcp.CallToolResult, w wireAnswer) {
	w.Result = nil
	if res.Meta == nil {
		res.Meta = mcp.Meta{}
	}
	res.Meta[MetaAnswer] = w
}

// sentence says the answer to a model that sees text only.
func (w wireAnswer) sentence() string {
	parts := []string{w.Note}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if w.Since > 0 {
		add("It has run for %s.", w.Since.Round(time.Second))
	}
	if !w.retryAt.IsZero() {
		add("Ask again in %s, at %s.", max(w.RetryAfter.Round(time.Second), time.Second), w.retryAt.Format(time.RFC3339))
	}
	if len(w.Problems) > 0 {
		add("Problems: %s.", strings.Join(w.Problems, "; "))
	}
	if w.Reason != "" && w.Settled() {
		add("Reason: %s.", strings.TrimRight(w.Reason, ". \n"))
	}
	if w.ProviderID != "" {
		add("The provider's id is %s.", w.ProviderID)
	}
	if w.SettledBy != "" {
		add("Settled by %s.", w.SettledBy)
	}
	if len(w.Result) > 0 {
		add("The recorded result: %s", w.Result)
	}
	switch {
	case w.link != "":
		add("Effect %s: %s", w.EffectID, w.link)
	case w.EffectID != "":
		add("Effect %s.", w.EffectID)
	}
	return strings.Join(parts, " ")
}
