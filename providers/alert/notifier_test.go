package alert_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/providers/alert"
)

const external = "https://landed.example.com"

func newNotifier(t *testing.T, s alert.Store, sinks ...alert.Sink) *alert.Notifier {
	t.Helper()
	n, err := alert.New(alert.Config{Store: s, Sinks: sinks, External: external + "/", Jitter: func() float64 { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func run(t *testing.T, n *alert.Notifier) {
	t.Helper()
	if err := n.Run(t.Context()); err != nil {
		t.Fatalf("Run: %v", err)
	}
}

func TestOneEffectLinksToItsPage(t *testing.T) {
	t.Parallel()
	s, k := newMemStore(), &sink{name: "hook"}
	s.park(1, "mail.send", "imap")
	run(t, newNotifier(t, s, k))
	page := external + "/e/0198c000-0000-7000-8000-000000000000"
	want := []alert.Message{{ID: "5f0c1111-0000-4000-8000-000000000000", Type: "effect.alert.v1", At: s.now, Tool: "mail.send", Provider: "imap",
		Count: 1, FirstEffectID: "0198c000-0000-7000-8000-000000000000", URL: page, OldestURL: page}}
	if diff := cmp.Diff(want, k.messages()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if !s.get(0).sent {
		t.Error("not recorded as sent")
	}
}

func TestN01_StormIsOneMessagePerGroup(t *testing.T) {
	t.Parallel()
	s, k := newMemStore(), &sink{name: "hook"}
	n := newNotifier(t, s, k)
	s.park(3000, "pay.charge", "stripe")
	s.park(2, "mail.send", "imap")
	run(t, n)
	got := k.messages()
	if len(got) != 2 {
		t.Fatalf("%d messages for two groups", len(got))
	}
	storm := got[0]
	if storm.Tool != "pay.charge" {
		storm = got[1]
	}
	if storm.Count != 3000 || storm.URL != external+"/?provider=stripe&tool=pay.charge" ||
		storm.OldestURL != external+"/e/0198c000-0000-7000-8000-000000000000" {
		t.Errorf("the storm's message: %+v", storm)
	}
	// It goes on for a minute, a round every five seconds: still silence, then one.
	for range 12 {
		s.park(250, "pay.charge", "stripe")
		s.add(5 * time.Second)
		run(t, n)
	}
	if got := k.messages(); len(got) != 2 {
		t.Errorf("%d messages within a minute", len(got))
	}
	s.add(groupInterval)
	run(t, n)
	if got := k.messages(); len(got) != 3 || got[2].Count != 3000 {
		t.Errorf("after the interval: %d messages, the last one %+v", len(got), got[len(got)-1])
	}
	run(t, n)
	if got := k.messages(); len(got) != 3 {
		t.Errorf("a round with nothing new sent %d messages", len(got)-3)
	}
}

func TestN03_LinksEscapeHostileNames(t *testing.T) {
	t.Parallel()
	s, k := newMemStore(), &sink{name: "hook"}
	s.park(2, `<!channel>&x=<https://evil.test|Approve>`, "a b\r\nBcc: c")
	run(t, newNotifier(t, s, k))
	got := k.messages()[0].URL
	if strings.ContainsAny(strings.TrimPrefix(got, external), "<>|\r\n !") || strings.Count(got, "&") != 1 {
		t.Errorf("link %q", got)
	}
}

func TestN04_ThreeReplicasSendOnce(t *testing.T) {
	t.Parallel()
	s := newMemStore()
	k := &sink{name: "hook"}
	for i := range 40 {
		s.park(3, fmt.Sprintf("tool%d", i), "p")
	}
	var wg sync.WaitGroup
	for range 3 {
		n := newNotifier(t, s, k)
		wg.Go(func() {
			for range 3 {
				if err := n.Run(context.Background()); err != nil {
					t.Errorf("Run: %v", err)
				}
			}
		})
	}
	wg.Wait()
	seen := map[string]int{}
	for _, m := range k.messages() {
		seen[m.Tool]++
	}
	for tool, n := range seen {
		if n != 1 {
			t.Errorf("%s was sent %d times", tool, n)
		}
	}
	if len(seen) != 40 {
		t.Errorf("%d of 40 groups were sent", len(seen))
	}
}

// A sink that hangs until its time is up must not keep another one waiting.
func TestN05_HangingSinkDelaysNobody(t *testing.T) {
	t.Parallel()
	s := newMemStore()
	release := make(chan struct{})
	var good *sink
	sentAll := make(chan struct{})
	var once sync.Once
	good = &sink{name: "good", answer: func(context.Context, alert.Message) error {
		if len(good.messages()) == 30 {
			once.Do(func() { close(sentAll) })
		}
		return nil
	}}
	bad := &sink{name: "bad", answer: func(ctx context.Context, _ alert.Message) error {
		if _, ok := ctx.Deadline(); !ok {
			return errors.New("no deadline")
		}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return context.DeadlineExceeded
	}}
	for i := range 30 {
		s.park(1, fmt.Sprintf("tool%d", i), "p")
	}
	done := make(chan error, 1)
	n := newNotifier(t, s, bad, good)
	go func() { done <- n.Run(context.Background()) }()
	select {
	case <-sentAll:
	case <-time.After(10 * time.Second):
		t.Error("the good sink waits for the bad one")
	}
	close(release)
	if err := <-done; err != nil {
		t.Errorf("a failing sink fails the round: %v", err)
	}
	for i := range 60 {
		if m := s.get(i); m.Sink == "bad" && (m.sent || m.cause != context.DeadlineExceeded.Error() || m.due != s.now.Add(5*time.Second)) {
			t.Errorf("message %d of the bad sink: %+v", i, m)
		}
	}
}

func TestN05_PanickingSinkIsAFailure(t *testing.T) {
	t.Parallel()
	s := newMemStore()
	s.park(1, "a", "p")
	good := &sink{name: "good"}
	run(t, newNotifier(t, s, &sink{name: "bad", answer: func(context.Context, alert.Message) error { panic("boom") }}, good))
	if len(good.messages()) != 1 || !strings.Contains(s.get(0).cause, "boom") {
		t.Errorf("good got %d, bad's cause %q", len(good.messages()), s.get(0).cause)
	}
}

func TestRetriesSpanDays(t *testing.T) {
	t.Parallel()
	s := newMemStore()
	s.park(1, "a", "p")
	k := &sink{name: "hook", answer: func(context.Context, alert.Message) error { return errors.New("connection refused") }}
	n := newNotifier(t, s, k)
	start := s.now
	var at []time.Duration
	for range 20 {
		before := len(k.messages())
		run(t, n)
		if len(k.messages()) > before {
			at = append(at, s.now.Sub(start))
		}
		if m := s.get(0); !m.gaveUp {
			s.add(m.due.Sub(s.now))
		}
	}
	hms := func(h, m, s int) time.Duration {
		return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second
	}
	want := []time.Duration{0, hms(0, 0, 5), hms(0, 5, 5), hms(0, 35, 5), hms(2, 35, 5), hms(7, 35, 5), hms(17, 35, 5), hms(31, 35, 5), hms(51, 35, 5), hms(75, 35, 5)}
	if diff := cmp.Diff(want, at); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	if m := s.get(0); !m.gaveUp || m.cause != "connection refused" {
		t.Errorf("in the end: %+v", m)
	}
	for i, m := range k.messages() {
		if m.ID != k.messages()[0].ID {
			t.Errorf("attempt %d has another id", i+1)
		}
	}
}

func TestAnswersShapeTheRetry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		err    error
		jitter float64
		wait   time.Duration
		giveUp bool
	}{
		{"plain failure", errors.New("x"), 0, 5 * time.Second, false},
		{"jitter adds up to a fifth", errors.New("x"), 0.5, 5*time.Second + 500*time.Millisecond, false},
		{"Retry-After", &alert.SendError{Status: 503, RetryAfter: time.Hour, Err: errors.New("x")}, 0, time.Hour, false},
		{"Retry-After below the table", &alert.SendError{RetryAfter: time.Second, Err: errors.New("x")}, 0, 5 * time.Second, false},
		{"absurd Retry-After", &alert.SendError{RetryAfter: 1e6 * time.Hour, Err: errors.New("x")}, 0, 24 * time.Hour, false},
		{"throttle", &alert.SendError{Status: 429, Throttle: true, Err: errors.New("x")}, 0, time.Minute, false},
		{"gone", &alert.SendError{Status: 410, Gone: true, Err: errors.New("x")}, 0, 0, true},
		{"wrapped", fmt.Errorf("a: %w", &alert.SendError{RetryAfter: time.Hour, Err: errors.New("x")}), 0, time.Hour, false},
		{"error without a cause", &alert.SendError{Status: 500}, 0, 5 * time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newMemStore()
			s.park(1, "a", "p")
			n, err := alert.New(alert.Config{Store: s, External: external, Jitter: func() float64 { return c.jitter },
				Sinks: []alert.Sink{&sink{name: "hook", answer: func(context.Context, alert.Message) error { return c.err }}}})
			if err != nil {
				t.Fatal(err)
			}
			run(t, n)
			m := s.get(0)
			if m.due.Sub(s.now) != c.wait || m.gaveUp != c.giveUp || m.cause == "" {
				t.Errorf("due in %s, gave up %v, cause %q; want %s, %v", m.due.Sub(s.now), m.gaveUp, m.cause, c.wait, c.giveUp)
			}
		})
	}
}

func TestGoneDisablesTheSink(t *testing.T) {
	t.Parallel()
	s := newMemStore()
	gone := &sink{name: "gone", answer: func(context.Context, alert.Message) error {
		return &alert.SendError{Status: 410, Gone: true, Err: errors.New("answered 410")}
	}}
	other := &sink{name: "other"}
	n := newNotifier(t, s, gone, other)
	s.park(1, "a", "p")
	run(t, n)
	s.park(1, "b", "p")
	run(t, n)
	if len(gone.messages()) != 1 || len(other.messages()) != 2 {
		t.Errorf("the gone sink was asked %d times, the other one %d", len(gone.messages()), len(other.messages()))
	}
	if m := s.get(2); !m.gaveUp || !strings.Contains(m.cause, "answered 410") {
		t.Errorf("the second message: %+v", m)
	}
	if diff := cmp.Diff(map[string]string{"gone": "answered 410"}, n.Disabled()); diff != "" {
		t.Errorf("Disabled (-want +got):\n%s", diff)
	}
}

// A replica with an older configuration claims the message of a sink that it does
// not know.
func TestUnknownSinkIsLeftToOthers(t *testing.T) {
	t.Parallel()
	s := newMemStore()
	s.park(1, "a", "p")
	knows := &sink{name: "new"}
	if _, err := s.RaiseAlerts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.BindAlertMessages(t.Context(), []string{"new"}); err != nil {
		t.Fatal(err)
	}
	run(t, newNotifier(t, s, &sink{name: "old"}))
	if m := s.get(0); m.gaveUp || !strings.Contains(m.cause, `"new"`) {
		t.Errorf("after the old replica: %+v", m)
	}
	s.add(5 * time.Second)
	run(t, newNotifier(t, s, knows))
	if len(knows.messages()) != 1 {
		t.Error("the new replica did not send it")
	}
}

func TestStoreFaults(t *testing.T) {
	t.Parallel()
	down := errors.New("no database")
	for _, c := range []struct {
		name  string
		fault func(*memStore)
		sends int // over three rounds, half a minute apart, the fault gone after the first
	}{
		{"raise, not applied", func(s *memStore) { s.err["raise"] = down }, 1},
		{"raise, applied", func(s *memStore) { s.lose["raise"] = down }, 1},
		{"bind, not applied", func(s *memStore) { s.err["bind"] = down }, 1},
		{"bind, applied", func(s *memStore) { s.lose["bind"] = down }, 1},
		{"claim", func(s *memStore) { s.err["claim"] = down }, 1},
		{"sent, not applied: again under the same id", func(s *memStore) { s.err["sent"] = down }, 2},
		{"sent, applied", func(s *memStore) { s.lose["sent"] = down }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, k := newMemStore(), &sink{name: "hook"}
			s.park(2, "a", "p")
			c.fault(s)
			n := newNotifier(t, s, k)
			if err := n.Run(t.Context()); !errors.Is(err, down) {
				t.Errorf("the round hides the fault: %v", err)
			}
			clear(s.err)
			clear(s.lose)
			for range 2 {
				s.add(alert.ClaimLease)
				run(t, n)
			}
			got := k.messages()
			if len(got) != c.sends {
				t.Fatalf("%d sends, want %d", len(got), c.sends)
			}
			if got[0].ID != got[len(got)-1].ID {
				t.Error("the second send has another id")
			}
		})
	}
}

// The round is cancelled while a message is on its way: what came of it is
// recorded all the same.
func TestCancelledRoundRecordsTheOutcome(t *testing.T) {
	t.Parallel()
	s := newMemStore()
	s.park(1, "a", "p")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := newNotifier(t, strict{s}, &sink{name: "hook", answer: func(context.Context, alert.Message) error {
		cancel()
		return nil
	}})
	if err := n.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if !s.get(0).sent {
		t.Error("the delivery is lost")
	}
}

// strict refuses cancelled contexts, as a database does.
type strict struct{ *memStore }

func (s strict) AlertSent(ctx context.Context, id string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.memStore.AlertSent(ctx, id)
}

func TestCausesAreFitToShow(t *testing.T) {
	t.Parallel()
	s := newMemStore()
	s.park(1, "a", "p")
	long := strings.Repeat("x", 2000)
	run(t, newNotifier(t, s, &sink{name: "hook", answer: func(context.Context, alert.Message) error {
		return errors.New("bad\r\n\x1b[31m\u202e" + long)
	}}))
	m := s.get(0)
	if strings.ContainsAny(m.cause, "\r\n\x1b\u202e") || len(m.cause) > 500 {
		t.Errorf("cause %q", m.cause)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		cfg  alert.Config
		want string
	}{
		{"no external address", alert.Config{}, "external address"},
		{"other scheme", alert.Config{External: "javascript:alert(1)"}, "external address"},
		{"sink twice", alert.Config{External: external, Sinks: []alert.Sink{&sink{name: "a"}, &sink{name: "a"}}}, `"a"`},
		{"sink without a name", alert.Config{External: external, Sinks: []alert.Sink{&sink{}}}, "empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := alert.New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWithoutSinksAlertsWait(t *testing.T) {
	t.Parallel()
	s := newMemStore()
	s.park(1, "a", "p")
	run(t, newNotifier(t, s))
	if len(s.messages) != 0 || len(s.waiting) != 1 {
		t.Errorf("%d messages, %d waiting", len(s.messages), len(s.waiting))
	}
}
