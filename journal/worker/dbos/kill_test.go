package dbosworker_test

import (
	"net/http"
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker/workertest"
)

// TestJ01_KilledAndRecovered kills the workflow's process at every point between
// begin and DBOS's checkpoint, and has a second one recover it. What may have
// happened is parked and decided by a person, whose decision is handed over by the
// dispatcher: the recovered workflow goes on once, and the provider was asked once.
func TestJ01_KilledAndRecovered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at     string
		decide journal.Verb // "" = nobody has to
		want   string
	}{
		{atBegun, journal.VerbReissue, "done p-1"},
		{"sent", journal.VerbCloseLanded, "done p-7"},
		{"sent", journal.VerbCloseNotLanded, "abandoned"},
		{atConfirmed, journal.VerbCloseLanded, "done p-7"},
		{atCommitted, "", "done p-1"},
	} {
		t.Run(c.at+" "+string(c.decide), func(t *testing.T) {
			t.Parallel()
			d := openJournal(t)
			arrived := make(chan struct{}, 8)
			p := workertest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
				arrived <- struct{}{}
				if c.at == "sent" {
					<-r.Context().Done() // until the process is killed
					return
				}
				_, _ = w.Write([]byte(`{"id":"p-1"}`))
			})
			s := spec{Provider: p.URL, Workflow: "w-1", Halt: c.at}
			first := d.child(s)
			if c.at == "sent" {
				<-arrived
			} else {
				first.says("AT " + c.at)
			}
			first.kill()
			s.Halt = ""
			second := d.child(s)
			if c.decide != "" {
				effect := d.parked()
				d.decide(effect, c.decide)
				d.round()
			}
			if got := second.says("RESULT"); got != c.want {
				t.Errorf("the workflow ended with %q, wanted %q", got, c.want)
			}
			if n := p.Count(); n != 1 {
				t.Errorf("the provider was asked %d times", n)
			}
			if want := map[bool]int{true: 1}[c.decide != ""]; d.received() != want || d.messages() != want {
				t.Errorf("%d messages, %d received, wanted %d", d.messages(), d.received(), want)
			}
			if c.decide != "" {
				d.acknowledged()
			}
		})
	}
}

// TestJ01_KilledWhileItWaits kills the process that waits for the decision; the
// decision and its message come while nobody runs.
func TestJ01_KilledWhileItWaits(t *testing.T) {
	t.Parallel()
	d := openJournal(t)
	p := workertest.NewProvider(t, failing(1, http.StatusBadGateway))
	s := spec{Provider: p.URL, Workflow: "w-1"}
	first := d.child(s)
	effect := d.parked()
	d.eventually("the workflow waits", func() bool {
		return d.count("select count(*) from dbos.operation_outputs where function_name = 'DBOS.sleep'") == 1
	})
	first.kill()
	d.decide(effect, journal.VerbReissue)
	d.round()
	if got := d.child(s).says("RESULT"); got != "done p-1" {
		t.Errorf("the workflow ended with %q", got)
	}
	if d.received() != 1 || d.messages() != 1 || p.Count() != 2 { // the second by order
		t.Errorf("%d messages, %d received, the provider was asked %d times", d.messages(), d.received(), p.Count())
	}
	d.acknowledged()
}

// TestJ01_KilledUnderAnOrder: the process dies while it executes an order. That
// one is spent and may have landed: a person decides again, and the second
// decision is a second message.
func TestJ01_KilledUnderAnOrder(t *testing.T) {
	t.Parallel()
	d := openJournal(t)
	arrived := make(chan struct{}, 8)
	p := workertest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		if len(arrived) == 2 {
			<-r.Context().Done()
		}
		w.WriteHeader(http.StatusBadGateway)
	})
	s := spec{Provider: p.URL, Workflow: "w-1"}
	first := d.child(s)
	effect := d.parked()
	d.decide(effect, journal.VerbReissue)
	d.round()
	d.eventually("the order is executed", func() bool { return p.Count() == 2 })
	first.kill()
	second := d.child(s)
	d.parked()
	d.decide(effect, journal.VerbCloseLanded)
	d.round()
	if got := second.says("RESULT"); got != "done p-7" {
		t.Errorf("the workflow ended with %q", got)
	}
	if d.received() != 2 || d.messages() != 2 || p.Count() != 2 {
		t.Errorf("%d messages, %d received, the provider was asked %d times", d.messages(), d.received(), p.Count())
	}
	d.acknowledged()
}

// TestJ01_DispatcherKilledBetweenSendAndMark: the try is made again by another
// process, and the workflow goes on once.
func TestJ01_DispatcherKilledBetweenSendAndMark(t *testing.T) {
	t.Parallel()
	d := openJournal(t)
	p := workertest.NewProvider(t, failing(1, http.StatusBadGateway))
	flow := d.child(spec{Provider: p.URL, Workflow: "w-1"})
	effect := d.parked()
	d.decide(effect, journal.VerbCloseNotLanded)
	dispatcher := d.child(spec{Dispatcher: true, Halt: atDelivered})
	dispatcher.says("AT " + atDelivered)
	dispatcher.kill()
	if got := flow.says("RESULT"); got != "abandoned" { // the message was sent all the same
		t.Errorf("the workflow ended with %q", got)
	}
	// It ended, which closed the delivery. Make the lost record matter: as if the
	// acknowledgement had been lost as well.
	d.exec("update deliveries set next_at = clock_timestamp(), acked_at = null, acked_by = ''")
	d.exec("update effects set open_delivery = true")
	d.round()
	h := d.handover(effect)
	if h.State != journal.HandoverSent || h.Tries != 2 || d.messages() != 1 || d.received() != 1 {
		t.Errorf("state %s after %d tries, %d messages, %d received", h.State, h.Tries, d.messages(), d.received())
	}
	if n := d.count("select count(*) from handover_tries where outcome = 'accepted' and detail like '%before%'"); n != 1 {
		t.Errorf("%d tries say that it was sent before", n)
	}
}

// failing is a provider that fails so many times, after it did it.
func failing(times int, status int) http.HandlerFunc {
	left := make(chan struct{}, times)
	for range times {
		left <- struct{}{}
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-left:
			w.WriteHeader(status)
		default:
			_, _ = w.Write([]byte(`{"id":"p-1"}`))
		}
	}
}
