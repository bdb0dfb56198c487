package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/landedhq/landed/journal/client"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/providers/evidence/imap"
	"github.com/landedhq/landed/providers/evidence/rt"
)

// AgentArg is the hidden argument that starts this binary as the agent.
const AgentArg = "__demo-agent"

// agentEnv carries the agent's configuration, so that no secret stands on a
// command line.
const agentEnv = "LANDED_DEMO_AGENT"

// feedEvery is how often the agent reads the feed without being woken.
const feedEvery = 5 * time.Second

// flowName is what the demo's configuration calls the agent.
const flowName = "agent"

// point is what the agent prints when it has come to where it is to be killed.
const point = "POINT"

// agentConfig is what an agent process needs.
type agentConfig struct {
	URL           string `json:"url"`
	Token         string `json:"token"`
	ProviderToken string `json:"provider_token"`
	Run           string `json:"run"`
	Step          string `json:"step,omitempty"` // "" = wait for decisions
}

// perform runs one step in a process of its own. A deadly step ends when the
// process says that it has come to its point: it is killed there, SIGKILL.
func (c agentConfig) perform(ctx context.Context, exe string, st step) error {
	c.Step = st.id
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd, _, out, err := c.start(ctx, exe)
	if err != nil {
		return err
	}
	reached := false
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == point && st.mishap.deadly() {
			reached = true
			_ = cmd.Process.Kill()
			break
		}
	}
	_, _ = io.Copy(io.Discard, out)
	err = cmd.Wait()
	switch {
	case st.mishap.deadly() && !reached:
		return fmt.Errorf("it ended (%v) before it could be killed", err)
	case st.mishap.deadly():
		return nil
	}
	return err
}

// resume runs the agent that waits for decisions, until ctx is done; a line on its
// standard input wakes it.
func (c agentConfig) resume(ctx context.Context, exe string, woken <-chan struct{}) error {
	cmd, in, out, err := c.start(ctx, exe)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-woken:
				_, _ = fmt.Fprintln(in) // one that has ended pulls when it is back
			}
		}
	}()
	_, _ = io.Copy(io.Discard, out)
	close(ended)
	return cmd.Wait()
}

// start starts the process. It ends itself when its standard input does, so
// that a killed demo leaves no agent behind.
func (c agentConfig) start(ctx context.Context, exe string) (*exec.Cmd, io.Writer, io.Reader, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("starting the agent: %w", err)
	}
	cmd := exec.CommandContext(ctx, exe, AgentArg)
	cmd.Env = append(os.Environ(), agentEnv+"="+string(b))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("starting the agent: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("starting the agent: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, nil, fmt.Errorf("starting the agent: %w", err)
	}
	return cmd, in, out, nil
}

// Agent is the agent process: what a team's own worker would be. in ends when
// the demo does.
func Agent(ctx context.Context, in io.Reader, out io.Writer) error {
	var c agentConfig
	if err := json.Unmarshal([]byte(os.Getenv(agentEnv)), &c); err != nil {
		return errors.New("this argument is the demo's own: run 'landed demo'")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	woken := make(chan struct{}, 1)
	go func() {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			select {
			case woken <- struct{}{}:
			default:
			}
		}
		cancel()
	}()
	j, err := client.New(client.Config{BaseURL: c.URL, Token: c.Token})
	if err != nil {
		return fmt.Errorf("opening the journal: %w", err)
	}
	log := slog.New(slog.DiscardHandler)
	a := &agent{cfg: c, out: out, registry: worker.NewRegistry()}
	if err := a.register(); err != nil {
		return err
	}
	if err := a.registry.Sync(ctx, j); err != nil {
		return fmt.Errorf("registering the agent's tools: %w", err)
	}
	w := worker.New(j, a.registry, worker.Options{Logger: log, Patience: 8 * time.Second})
	if c.Step == "" {
		return a.follow(ctx, j, w, woken)
	}
	for _, st := range script() {
		if st.id == c.Step {
			a.step = st
			_, err := w.Do(ctx, st.call(c.Run))
			return err
		}
	}
	return fmt.Errorf("the script has no step %q", c.Step)
}

// agent holds the tools.
type agent struct {
	cfg      agentConfig
	out      io.Writer
	registry *worker.Registry
	step     step // its mishap befalls attempt 1 only
}

// follow reads the decision feed and carries every decision out: an order is
// executed as a further attempt, anything else is taken note of. It reads when it
// is woken, and now and then all the same: a call can be lost, the feed can't.
func (a *agent) follow(ctx context.Context, j worker.Journal, w *worker.Worker, woken <-chan struct{}) error {
	after := int64(0)
	for ctx.Err() == nil {
		ds, err := j.Decisions(ctx, after, 100)
		if err != nil {
			if !pause(ctx, time.Second) {
				break
			}
			continue
		}
		for _, d := range ds {
			after = d.Cursor
			if d.AckedAt != nil {
				continue
			}
			if st, ok := a.stepOf(d.Key); ok && d.OrderID != "" {
				go func() { _, _ = w.Do(ctx, st.call(a.cfg.Run)) }() // begin closes the delivery
				continue
			}
			if err := j.Ack(ctx, d.ID); err != nil {
				after = d.Cursor - 1
				break
			}
		}
		if len(ds) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
		case <-woken:
		case <-time.After(feedEvery):
		}
	}
	return ctx.Err()
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// stepOf finds the step that a key belongs to.
func (a *agent) stepOf(key string) (step, bool) {
	for _, st := range script() {
		if k, err := st.call(a.cfg.Run).DeriveKey(); err == nil && k == key {
			return st, true
		}
	}
	return step{}, false
}

func (a *agent) register() error {
	run := map[string]worker.RunFunc{
		"mail.send": a.mail, "report.mail": a.mail, "ticket.create": a.ticket, "ticket.escalate": a.ticket,
		"bank.payout": a.post("/bank/payouts"), "card.charge": a.post("/cards/charges"), "fax.send": a.fax,
	}
	for _, t := range tools() {
		spec := worker.ToolSpec{Tool: t, Tracked: true, Run: a.fated(run[t.Name])}
		if t.Name == "card.charge" {
			spec.KeyHeader = "Idempotency-Key"
		}
		if err := a.registry.Register(spec); err != nil {
			return fmt.Errorf("registering tool %s: %w", t.Name, err)
		}
	}
	return nil
}

// fated lets the step's mishap befall attempt 1.
func (a *agent) fated(run worker.RunFunc) worker.RunFunc {
	return func(ctx context.Context, call worker.Call) (worker.Outcome, error) {
		g, err := worker.Effect(ctx)
		if err != nil {
			return worker.Outcome{}, err
		}
		if g.Attempt() > 1 || !a.step.mishap.deadly() {
			return run(ctx, call)
		}
		if a.step.mishap == dieBefore {
			a.die()
		}
		out, err := run(ctx, call)
		if err == nil {
			a.die() // the provider is done, the journal does not know
		}
		return out, err
	}
}

// die says that the point is reached and waits for the SIGKILL.
func (a *agent) die() {
	_, _ = fmt.Fprintln(a.out, point)
	select {}
}

// send posts body to a sandbox provider. The transport knows how far it got.
func (a *agent) send(ctx context.Context, call worker.Call, path, contentType string, body []byte, parse func(worker.Response) (worker.Outcome, error)) (worker.Outcome, error) {
	c, err := worker.Client(ctx)
	if err != nil {
		return worker.Outcome{}, err
	}
	ref, err := worker.RefFrom(ctx)
	if err != nil {
		return worker.Outcome{}, err
	}
	u := a.cfg.URL + prefix + path + "?" + url.Values{"ref": {ref}, "subject": {call.Subject}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u, bytes.NewReader(body))
	if err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	auth := "Bearer "
	if strings.HasPrefix(path, "/desk/") {
		auth = "token "
	}
	req.Header.Set("Authorization", auth+a.cfg.ProviderToken)
	req.Header.Set("Content-Type", contentType)
	if a.step.mishap != none {
		req.Header.Set("X-Sandbox", string(a.step.mishap))
	}
	return worker.Classifier{Parse: parse}.Send(c, req)
}

// created reads {"id": …}.
func created(r worker.Response) (worker.Outcome, error) {
	var v struct {
		ID any `json:"id"`
	}
	if err := json.Unmarshal(r.Body, &v); err != nil || v.ID == nil {
		return worker.Outcome{}, worker.Unknown(fmt.Errorf("the answer names no id: %.200s", r.Body))
	}
	return worker.Outcome{Result: r.Body, ProviderID: fmt.Sprint(v.ID), Replayed: worker.Replayed(r.Header)}, nil
}

func (a *agent) post(path string) worker.RunFunc {
	return func(ctx context.Context, call worker.Call) (worker.Outcome, error) {
		return a.send(ctx, call, path, "application/json", call.Args, created)
	}
}

// mail sends a message that carries the reference where Landed looks for it.
func (a *agent) mail(ctx context.Context, call worker.Call) (worker.Outcome, error) {
	var m struct{ To, Subject, Text string }
	if err := json.Unmarshal(call.Args, &m); err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	ref, err := worker.RefFrom(ctx)
	if err != nil {
		return worker.Outcome{}, err
	}
	headers, err := imap.Carrier{}.Headers(ref)
	if err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "From: Agent <%s>\r\nTo: %s\r\nSubject: %s\r\nDate: %s\r\n", mailUser, m.To, m.Subject, time.Now().Format(time.RFC1123Z))
	for _, h := range headers {
		fmt.Fprintf(&b, "%s: %s\r\n", h.Name, h.Value)
	}
	fmt.Fprintf(&b, "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n%s\r\n", m.Text)
	return a.send(ctx, call, "/mail/send", "message/rfc822", b.Bytes(), created)
}

// ticket opens a ticket whose custom field carries the reference.
func (a *agent) ticket(ctx context.Context, call worker.Call) (worker.Outcome, error) {
	var t struct{ Subject, Text string }
	if err := json.Unmarshal(call.Args, &t); err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	ref, err := worker.RefFrom(ctx)
	if err != nil {
		return worker.Outcome{}, err
	}
	body, err := rt.CreateBody(rt.NewTicket{Queue: deskQueue, Subject: t.Subject, Content: t.Text}, deskField, ref)
	if err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	return a.send(ctx, call, "/desk/REST/2.0/ticket", "application/json", body, created)
}

// fax calls a machine that is switched off: nothing can leave.
func (a *agent) fax(ctx context.Context, call worker.Call) (worker.Outcome, error) {
	c, err := worker.Client(ctx)
	if err != nil {
		return worker.Outcome{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:9/fax", bytes.NewReader(call.Args))
	if err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	return worker.Classifier{Parse: created}.Send(c, req)
}
