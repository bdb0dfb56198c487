package worker_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/workertest"
)

// mailbox is a fake SMTP server. It closes the connection after the step named
// in dropAfter, or keeps quiet for ever after the final dot, but stores first.
type mailbox struct {
	addr      string
	dropAfter string // "RCPT", ".", or ""
	late      bool   // store after the final dot, never answer
	stored    atomic.Int64
}

func newMailbox(t *testing.T, m *mailbox) *mailbox {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	m.addr = l.Addr().String()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go m.serve(c)
		}
	}()
	return m
}

func (m *mailbox) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	lines := bufio.NewScanner(c)
	reply := func(s string) { _, _ = fmt.Fprintf(c, "%s\r\n", s) }
	reply("220 test")
	data := false
	for lines.Scan() {
		line := lines.Text()
		switch {
		case data && line == ".":
			m.stored.Add(1)
			if m.dropAfter == "." {
				return
			}
			if m.late {
				lines.Scan() // until the client gives up
				return
			}
			data = false
			reply("250 stored as q-1")
		case data:
		case line == "DATA":
			data = true
			reply("354 go on")
		case strings.HasPrefix(line, "RCPT"):
			if m.dropAfter == "RCPT" {
				return
			}
			if strings.Contains(line, "nobody@") {
				reply("550 no such user")
				continue
			}
			reply("250 ok")
		default:
			reply("250 ok")
		}
	}
}

// smtpSend is how a mail tool reports its phases: Preparing before it connects,
// Sending before the first byte of the body.
func smtpSend(addr, to string) worker.RunFunc {
	return func(ctx context.Context, _ worker.Call) (worker.Outcome, error) {
		if err := worker.Preparing(ctx); err != nil {
			return worker.Outcome{}, err
		}
		ref, err := worker.RefFrom(ctx)
		if err != nil {
			return worker.Outcome{}, err
		}
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return worker.Outcome{}, err
		}
		defer func() { _ = c.Close() }()
		defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
		s := session{c, bufio.NewReader(c)}
		for _, cmd := range []string{"", "HELO test", "MAIL FROM:<a@example.test>", "RCPT TO:<" + to + ">", "DATA"} {
			if err := s.say(cmd); err != nil {
				return worker.Outcome{}, err
			}
		}
		if err := worker.Sending(ctx); err != nil {
			return worker.Outcome{}, err
		}
		return worker.Outcome{ProviderID: ref}, s.say("Message-ID: <" + ref + "@example.test>\r\n\r\nhello\r\n.")
	}
}

type session struct {
	c net.Conn
	r *bufio.Reader
}

// say sends one command and reads its reply; 5xx is a refusal.
func (s session) say(cmd string) error {
	if cmd != "" {
		if _, err := fmt.Fprintf(s.c, "%s\r\n", cmd); err != nil {
			return err
		}
	}
	line, err := s.r.ReadString('\n')
	switch {
	case err != nil:
		return err
	case line[0] == '5':
		return worker.Refused(errors.New(strings.TrimSpace(line)), true)
	}
	return nil
}

func TestR01_SMTPPhases(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		box    *mailbox
		to     string
		status worker.Status
		phase  journal.Phase
		stored int64
	}{
		{"accepted", &mailbox{}, "b@example.test", worker.StatusDone, journal.PhaseConfirmed, 1},
		{"dropped after RCPT TO: safe to retry", &mailbox{dropAfter: "RCPT"}, "b@example.test", worker.StatusInProgress, journal.PhaseNotSent, 0},
		{"refused at RCPT TO", &mailbox{}, "nobody@example.test", worker.StatusRefused, journal.PhaseRefused, 0},
		{"dropped after the final dot", &mailbox{dropAfter: "."}, "b@example.test", worker.StatusUnknown, journal.PhaseSent, 1},
		{"stored after the client's time-out", &mailbox{late: true}, "b@example.test", worker.StatusUnknown, journal.PhaseSent, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			box := newMailbox(t, row.box)
			j := workertest.NewMemory()
			s := spec("mail.send", journal.ClassAtMostOnce, smtpSend(box.addr, row.to))
			s.Tracked, s.ClientTimeout = false, 200*time.Millisecond
			w := newFixtureWith(t, j, s, worker.Options{Patience: -1})
			c := on("mail.send", "k")
			c.Lease = 100 * time.Millisecond
			for range 2 { // the second call must never send again
				a, err := w.Do(t.Context(), c)
				if err != nil || row.phase != journal.PhaseNotSent && a.Status != row.status {
					t.Fatalf("Do = %s (%s), %v; want %s", a.Status, a.Reason, err, row.status)
				}
			}
			_, attempts, _ := j.Effect("k")
			if attempts[0].Phase != row.phase || box.stored.Load() != row.stored {
				t.Errorf("phase %s, %d stored; want %s, %d", attempts[0].Phase, box.stored.Load(), row.phase, row.stored)
			}
		})
	}
}
