package worker

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"github.com/landedhq/landed/journal"
)

// errAttemptOver is the cause when an attempt's context simply ends.
var errAttemptOver = errors.New("the attempt is over")

// PanicError is what a panic of a tool becomes. Its stack goes to the log only.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("the tool panicked: %v", e.Value) }

// execute runs one granted attempt and reports how it ended. The lease is kept
// until the report is through.
func (w *Worker) execute(ctx context.Context, t *tool, call Call, key string, start mark, b journal.BeginAnswer) (step, error) {
	if b.Args != nil { // of an earlier attempt, or corrected by a person
		call.Args = b.Args
	}
	runCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(errAttemptOver)
	g := w.newGrant(t, call, key, start, b)
	g.ctx, g.cancel = runCtx, cancel
	stop := w.keepAlive(context.WithoutCancel(ctx), g)
	defer stop()

	if err := g.admitStart(); err != nil { // the answer took too long: nothing ran
		g.close()
		return w.fail(ctx, g, NotSent(err))
	}
	deadlined, release := context.WithTimeout(runCtx, max(b.Deadline-w.clock.since(start), 0))
	out, err := runTool(context.WithValue(deadlined, grantKey{}, g), t, call)
	release()
	g.close()
	if err != nil {
		return w.fail(ctx, g, err)
	}
	return w.commit(ctx, g, out)
}

func (w *Worker) newGrant(t *tool, call Call, key string, start mark, b journal.BeginAnswer) *Grant {
	sendBy := b.SendBy
	if b.KeyWindow > 0 {
		sendBy = min(sendBy, b.KeyWindow)
	}
	return &Grant{
		tool: t, answer: b, journal: w.journal, transport: w.transport, clock: w.clock,
		report: journal.Report{
			EffectID: b.EffectID, Attempt: b.Attempt, LeaseToken: b.LeaseToken,
			Key: key, Namespace: call.Namespace, Tool: t.Name,
		},
		start: start, sendBy: sendBy, lease: start, leaseFor: b.LeaseFor,
	}
}

// admitStart is admit without counting as "entered the transport".
func (g *Grant) admitStart() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refusal()
}

// runTool calls the tool's function on a goroutine of its own, so that neither
// a panic nor runtime.Goexit takes the report with it.
func runTool(ctx context.Context, t *tool, call Call) (out Outcome, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		returned := false
		defer func() {
			if returned {
				return
			}
			value := recover()
			if value == nil {
				value = "runtime.Goexit was called"
			}
			out, err = Outcome{}, &PanicError{Value: value, Stack: debug.Stack()}
		}()
		out, err = t.Run(ctx, call)
		returned = true
	}()
	<-done
	return out, err
}

// maxErrorBytes bounds what is journaled of an error.
const maxErrorBytes = 2000

// errorText is what is journaled of an error: valid text without NUL, capped,
// and without the query of a URL, where credentials live.
func errorText(err error) string {
	text := err.Error()
	var u *url.Error
	if errors.As(err, &u) {
		text = strings.ReplaceAll(text, u.URL, withoutQuery(u.URL))
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if len(text) <= maxErrorBytes {
		return text
	}
	n := maxErrorBytes
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

func withoutQuery(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(a URL)"
	}
	return u.Scheme + "://" + u.Host + u.EscapedPath()
}
