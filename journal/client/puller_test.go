package client_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client"
	"github.com/landedhq/landed/journal/worker"
)

// pullerEnv makes this test binary a worker that has nothing but the API: no
// adapter tells it of a decision. It tells each step and waits for leave.
const pullerEnv = "LANDED_TEST_PULLER"

type puller struct {
	URL, Token, Provider, Namespace, Key string
	// Feed is the file with the feed's cursor. Without one the worker does its
	// effect and waits for decisions by long poll; with one it only reads the
	// feed, and begins again whatever was decided.
	Feed string
	Park bool // end when parked
}

// steps tells a step on standard output and waits for a line on standard input.
// The parent kills instead of answering.
type steps struct{ in *bufio.Reader }

func (s *steps) at(name string) {
	fmt.Println("AT " + name)
	if _, err := s.in.ReadString('\n'); err != nil {
		os.Exit(3)
	}
}

// stepped is the client with a step on both sides of every call.
type stepped struct {
	*client.Client
	*steps
}

func (j stepped) Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error) {
	j.at("before begin")
	a, err := j.Client.Begin(ctx, r)
	j.at("after begin " + string(a.Directive))
	return a, err
}

func (j stepped) Commit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error) {
	j.at("before commit")
	a, err := j.Client.Commit(ctx, r)
	j.at("after commit")
	return a, err
}

func (j stepped) Fail(ctx context.Context, r journal.FailRequest) (journal.FailAnswer, error) {
	j.at("before fail")
	a, err := j.Client.Fail(ctx, r)
	j.at("after fail " + string(a.Directive))
	return a, err
}

func (j stepped) Decision(ctx context.Context, id string, after int64, wait time.Duration) (*journal.Resolution, error) {
	j.at("before poll")
	d, err := j.Client.Decision(ctx, id, after, wait)
	j.at("after poll")
	return d, err
}

func (j stepped) Decisions(ctx context.Context, after int64, limit int) ([]journal.Resolution, error) {
	j.at("before feed")
	page, err := j.Client.Decisions(ctx, after, limit)
	j.at("after feed")
	return page, err
}

func (j stepped) Ack(ctx context.Context, id string) error {
	j.at("before ack")
	err := j.Client.Ack(ctx, id)
	j.at("after ack")
	return err
}

// bePuller is the worker process.
func bePuller(env string) error {
	var p puller
	if err := json.Unmarshal([]byte(env), &p); err != nil {
		return err
	}
	c, err := client.New(client.Config{BaseURL: p.URL, Token: p.Token})
	if err != nil {
		return err
	}
	j := stepped{c, &steps{bufio.NewReader(os.Stdin)}}
	reg := worker.NewRegistry()
	err = reg.Register(worker.ToolSpec{
		Tool:    journal.Tool{Name: "order.send", Class: journal.ClassAtMostOnce, ClientTimeout: 10 * time.Second},
		Tracked: true,
		Run:     func(ctx context.Context, call worker.Call) (worker.Outcome, error) { return p.send(ctx, j, call) },
	})
	if err != nil {
		return err
	}
	w := worker.New(j, reg, worker.Options{Logger: slog.New(slog.DiscardHandler), Patience: -1})
	if p.Feed != "" {
		return p.feed(context.Background(), w, j)
	}
	return p.poll(context.Background(), w, j)
}

// send causes the effect: a POST that the provider counts.
func (p puller) send(ctx context.Context, j stepped, call worker.Call) (worker.Outcome, error) {
	c, err := worker.Client(ctx)
	if err != nil {
		return worker.Outcome{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Provider+"/"+call.Key, bytes.NewReader(call.Args))
	if err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	j.at("before the call")
	out, err := worker.Classifier{}.Send(c, req)
	j.at("after the call")
	return out, err
}

func (p puller) call(key string) worker.Call {
	return worker.Call{Run: worker.Run{RootRun: p.Namespace}, Namespace: p.Namespace, Tool: "order.send", Step: "s", Operation: "o", Key: key, Args: []byte(`{"n": 1.50}`)}
}

// poll does the effect, waits out what people decide, and acknowledges it.
func (p puller) poll(ctx context.Context, w *worker.Worker, j stepped) error {
	var heard *journal.Resolution
	for {
		a, err := w.Do(ctx, p.call(p.Key))
		if err == nil && heard != nil {
			err = j.Ack(ctx, heard.ID)
		}
		if err != nil {
			return err
		}
		if !a.Parked() || p.Park {
			fmt.Println("END " + string(a.Status))
			return nil
		}
		if heard, err = w.Await(ctx, a.EffectID, a.Cursor); err != nil {
			return err
		}
	}
}

// feed does what was decided since the cursor that the last process kept.
func (p puller) feed(ctx context.Context, w *worker.Worker, j stepped) error {
	cursor, err := p.cursor()
	for err == nil {
		var page []journal.Resolution
		page, err = j.Decisions(ctx, cursor, 2)
		if err == nil && len(page) == 0 {
			fmt.Println("END read")
			return nil
		}
		for _, d := range page {
			if d.Kind == journal.ResolvedReissue { // of a close it is enough to know
				a, err := w.Do(ctx, p.call(d.Key))
				if err != nil {
					return err
				}
				if a.Status == worker.StatusInProgress {
					fmt.Println("END in_progress") // neither acknowledged nor passed over: read again later
					return nil
				}
			}
			if err := j.Ack(ctx, d.ID); err != nil {
				return err
			}
			cursor = d.Cursor
			j.at("before keeping the cursor")
			if err := os.WriteFile(p.Feed, strconv.AppendInt(nil, cursor, 10), 0o600); err != nil {
				return err
			}
		}
	}
	return err
}

// cursor is where the feed was left, 0 if that was never or is unreadable: an
// old cursor shows what was done before, and doing it again is harmless.
func (p puller) cursor() (int64, error) {
	b, err := os.ReadFile(p.Feed)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return 0, nil
	}
	return n, nil
}
