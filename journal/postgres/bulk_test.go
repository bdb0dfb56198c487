package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/decide"
	"github.com/landedhq/landed/journal/postgres"
)

// outage parks n mails that failed alike, each looked for once.
func (d *desk) outage(n int, v journal.Verdict) []string {
	d.t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = d.parkedKey(fmt.Sprintf("outage-%s-%d", v, i), v)
	}
	return ids
}

func (d *desk) freeze(f journal.ListFilter) journal.Bulk {
	d.t.Helper()
	b, err := d.FreezeBulk(d.t.Context(), operator, "tool="+f.Tool, f)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.bulk(b.ID)
}

func (d *desk) bulk(id string) journal.Bulk {
	d.t.Helper()
	b, err := d.Bulk(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return b
}

func bulkOrder(id string, v journal.Verb, m journal.ReissueMode) journal.BulkOrder {
	return journal.BulkOrder{BulkID: id, Verb: v, Mode: m, ReasonCode: "provider_incident", Reason: "the mail server was down from nine to ten", Actor: operator}
}

// order weighs the set as the page does and orders what is eligible.
func (d *desk) order(b journal.Bulk, o journal.BulkOrder) {
	d.t.Helper()
	now, err := d.BulkNow(d.t.Context(), b)
	if err != nil {
		d.t.Fatal(err)
	}
	var aside []journal.BulkItem
	for _, w := range b.WeighBulk(o, now) {
		if w.Eligible {
			o.Eligible++
			continue
		}
		if w.Item.Outcome == journal.BulkRefused {
			w.Item.Outcome = journal.BulkSkipped
		}
		aside = append(aside, w.Item)
	}
	if err := d.OrderBulk(d.t.Context(), o, aside); err != nil {
		d.t.Fatal(err)
	}
}

func runner(d *desk, looker decide.Looker) *decide.BulkRunner {
	quiet := slog.New(slog.DiscardHandler)
	return decide.NewBulkRunner(d.Store, decide.New(d.Store, looker, quiet), quiet)
}

func (d *desk) round(r *decide.BulkRunner) {
	d.t.Helper()
	if err := r.Round(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

// outcomes lists what became of the items, in order.
func outcomes(b journal.Bulk) []string {
	var out []string
	for _, it := range b.Items {
		out = append(out, strings.TrimSpace(string(it.Outcome)+" "+it.Code))
	}
	return out
}

// TestBulk_LeavesAloneWhatChanged: late facts between freezing and the order, and
// between the order and an item's turn, leave their effects undecided; what came
// after freezing is not in the set at all.
func TestBulk_LeavesAloneWhatChanged(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	ids := d.outage(6, journal.NotFound)
	b := d.freeze(journal.ListFilter{Tool: "mail.send"})
	if b.State != journal.BulkFrozen || b.Count != 6 || b.Matched != 6 || len(b.Items) != 6 || b.Filter != "tool=mail.send" {
		t.Fatalf("frozen: %+v", b)
	}
	commit := func(id string) {
		k := d.snap(id)
		d.commit(request("mail.send", k.Effect.Key), journal.BeginAnswer{EffectID: id, Attempt: 1, LeaseToken: k.Attempts[0].Token}, "late")
	}
	newcomer := d.parkedKey("after-freezing", journal.NotFound)
	commit(ids[0])
	d.look(ids[1], journal.NotFound) // says the same, and is new all the same
	d.order(b, bulkOrder(b.ID, journal.VerbCloseNotLanded, ""))
	commit(ids[2])
	d.look(ids[3], journal.Found)
	_, p := useCase(d, journal.NotFound)
	d.round(runner(d, p))
	b = d.bulk(b.ID)
	want := []string{"stale stale", "stale stale", "stale stale", "stale stale", "decided", "decided"}
	if diff := cmp.Diff(want, outcomes(b)); diff != "" || b.State != journal.BulkDone {
		t.Fatalf("%s (-want +got):\n%s", b.State, diff)
	}
	for i, said := range []string{"COMMITTED", "New evidence", "COMMITTED", "New evidence"} {
		if !strings.Contains(b.Items[i].Why, said) {
			t.Errorf("item %d says %q, want %q", i+1, b.Items[i].Why, said)
		}
	}
	for i, id := range ids {
		want := [3]int{}
		if i > 3 {
			want = [3]int{1, 1, 1}
		}
		if got := d.rows(id); i != 0 && i != 2 && got != want {
			t.Errorf("item %d: decisions, deliveries, audit rows %v, want %v", i+1, got, want)
		}
	}
	if s := d.snap(newcomer); s.Effect.State != journal.StateParked {
		t.Errorf("what came later is %s", s.Effect.State)
	}
	if p.looks != 0 {
		t.Errorf("%d looks: the evidence was fresh", p.looks)
	}
}

// TestBulk_Recorded: the order has an audit row of its own, and each decision
// names the bulk.
func TestBulk_Recorded(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	ids := d.outage(3, journal.NotFound)
	b := d.freeze(journal.ListFilter{})
	d.order(b, bulkOrder(b.ID, journal.VerbReissue, journal.NewKey))
	if err := d.OrderBulk(t.Context(), bulkOrder(b.ID, journal.VerbReissue, journal.NewKey), nil); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("ordered twice: %v", err)
	}
	_, p := useCase(d, journal.NotFound)
	d.round(runner(d, p))
	rows, err := d.AuditRows(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	orders, decided := 0, 0
	for _, r := range rows {
		var e struct {
			Kind, Reason string
			Detail       map[string]string
		}
		if err := json.Unmarshal(r.Body, &e); err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Kind == "bulk:reissue":
			orders++
			if e.Detail["bulk"] != b.ID || e.Detail["count"] != "3" || e.Detail["eligible"] != "3" || e.Detail["filter"] != "tool=" || r.Actor != "operator:olga" || e.Reason == "" {
				t.Errorf("the order says %+v", e)
			}
		case e.Kind == "decided:reissue":
			decided++
			if e.Detail["bulk"] != b.ID {
				t.Errorf("a decision names bulk %q", e.Detail["bulk"])
			}
		}
	}
	if orders != 1 || decided != 3 {
		t.Errorf("%d orders and %d decisions on the trail", orders, decided)
	}
	if _, err := d.VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
	k, err := d.Case(t.Context(), ids[0])
	if err != nil || len(k.Decisions) != 1 || k.Decisions[0].Bulk != 3 || k.Decisions[0].BulkID != b.ID || k.Order == nil {
		t.Errorf("read back: %+v, order %v, %v", k.Decisions, k.Order, err)
	}
}

// TestBulk_RepeatsOnlyWhatIsProvedAbsent: also in the transaction, whoever asks.
func TestBulk_RepeatsOnlyWhatIsProvedAbsent(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.outage(2, journal.NotFound)
	unknown := d.outage(2, journal.CannotTell)
	d.outage(1, journal.Found)
	b := d.freeze(journal.ListFilter{})
	d.order(b, bulkOrder(b.ID, journal.VerbReissue, journal.NewKey))
	_, p := useCase(d, journal.NotFound)
	d.round(runner(d, p))
	want := []string{"decided", "decided", "skipped blocked:too_early", "skipped blocked:too_early", "skipped blocked:found"}
	if diff := cmp.Diff(want, outcomes(d.bulk(b.ID))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.pass(unknown[0], time.Hour) // no longer too early, still nothing proved
	one := d.decision(unknown[0], journal.VerbReissue, journal.NewKey)
	one.Bulk, one.BulkID = 2, b.ID
	var be *journal.BlockedError
	if _, err := d.Decide(t.Context(), one); !errors.As(err, &be) || be.Reason != journal.WhyNotProved {
		t.Errorf("repeated without proof: %v", err)
	}
}

// TestBulk_FourEyesBySize: a rule for many makes proposals, which are judged as
// part of many when somebody approves; fewer are decided at once.
func TestBulk_FourEyesBySize(t *testing.T) {
	t.Parallel()
	d := openDesk(t, func(o *postgres.Options) {
		o.Policy.Version = "test/9"
		o.Policy.Rules = []journal.Rule{{Name: "many at once", BulkFrom: 3, FourEyes: true}}
	})
	u, p := useCase(d, journal.NotFound)
	r := runner(d, p)
	d.outage(2, journal.NotFound)
	few := d.freeze(journal.ListFilter{})
	d.order(few, bulkOrder(few.ID, journal.VerbCloseNotLanded, ""))
	d.round(r)
	if diff := cmp.Diff([]string{"decided", "decided"}, outcomes(d.bulk(few.ID))); diff != "" {
		t.Fatalf("two (-want +got):\n%s", diff)
	}
	ids := d.outage(3, journal.FoundNotEffective)
	many := d.freeze(journal.ListFilter{State: journal.StateParked})
	d.order(many, bulkOrder(many.ID, journal.VerbCloseNotLanded, ""))
	d.round(r)
	if diff := cmp.Diff([]string{"proposed", "proposed", "proposed"}, outcomes(d.bulk(many.ID))); diff != "" {
		t.Fatalf("three (-want +got):\n%s", diff)
	}
	s := d.snap(ids[0])
	if s.Effect.State != journal.StateParked || s.Proposal.Decision.Bulk != 3 || s.Proposal.Decision.BulkID != many.ID {
		t.Fatalf("%s, %+v", s.Effect.State, s.Proposal)
	}
	done, err := u.Approve(t.Context(), d.approval(s.Proposal, approver))
	if err != nil || strings.Join(done.Decision.Rules, "") != "many at once" || done.Decision.BulkID != many.ID {
		t.Errorf("approved: %+v, %v", done.Decision, err)
	}
}

// TestBulk_LoginAgesUpToTheOrder: a bulk that takes long is not refused half-way.
func TestBulk_LoginAgesUpToTheOrder(t *testing.T) {
	t.Parallel()
	d := openDesk(t, func(o *postgres.Options) {
		o.Policy.Version = "test/10"
		o.Policy.Rules = []journal.Rule{{Name: "fresh", StepUp: true}}
	})
	_, p := useCase(d, journal.NotFound)
	d.outage(2, journal.NotFound)
	for _, tt := range []struct {
		name string
		age  time.Duration
		want string
	}{{"stale when ordered", time.Hour, "refused policy:step_up"}, {"fresh when ordered", time.Minute, "decided"}} {
		b := d.freeze(journal.ListFilter{State: journal.StateParked})
		o := bulkOrder(b.ID, journal.VerbCloseNotLanded, "")
		o.Actor.AuthAt = b.Now.Add(-tt.age)
		d.order(b, o)
		d.exec("update bulks set auth_at = auth_at - interval '20 min', ordered_at = ordered_at - interval '20 min' where id = $1", b.ID)
		d.round(runner(d, p))
		if diff := cmp.Diff([]string{tt.want, tt.want}, outcomes(d.bulk(b.ID))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestBulk_WhoMay: only who saw the set orders it, and only deciders order or stop.
func TestBulk_WhoMay(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.outage(1, journal.NotFound)
	b := d.freeze(journal.ListFilter{})
	viewer, auditor := operator, operator
	viewer.Roles, auditor.Roles = []journal.Role{journal.RoleViewer}, []journal.Role{journal.RoleAuditor, journal.RoleAdmin}
	for _, tt := range []struct {
		who  journal.Actor
		code string
	}{{viewer, journal.PolicyRole}, {auditor, journal.PolicyRole}, {approver, journal.PolicyNotYours}} {
		o := bulkOrder(b.ID, journal.VerbCloseLanded, "")
		o.Actor = tt.who
		if err := d.OrderBulk(t.Context(), o, nil); policyCode(err) != tt.code {
			t.Errorf("ordered by %v: %v", tt.who.Roles, err)
		}
	}
	if err := d.StopBulk(t.Context(), b.ID, operator); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("stopped before it ran: %v", err)
	}
	d.order(b, bulkOrder(b.ID, journal.VerbCloseLanded, ""))
	if err := d.StopBulk(t.Context(), b.ID, viewer); policyCode(err) != journal.PolicyRole {
		t.Errorf("stopped by a viewer: %v", err)
	}
	// Roles count as they were when it was ordered, and the use case asks again.
	d.exec(`update bulks set ordered_by = jsonb_set(ordered_by, '{roles}', '["viewer"]') where id = $1`, b.ID)
	_, p := useCase(d, journal.NotFound)
	d.round(runner(d, p))
	if got := outcomes(d.bulk(b.ID)); got[0] != "refused policy:role" {
		t.Errorf("run for a viewer: %v", got)
	}
	for _, id := range []string{"nonsense", journal.NewID(time.Now())} {
		if _, err := d.Bulk(t.Context(), id); !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("bulk %s: %v", id, err)
		}
	}
	var ie *journal.InvalidError
	if _, err := d.FreezeBulk(t.Context(), operator, "", journal.ListFilter{Tool: "none"}); !errors.As(err, &ie) {
		t.Errorf("nothing frozen: %v", err)
	}
}

// stopsAt is a store that does something once an item has its outcome.
type stopsAt struct {
	*postgres.Store
	no    int
	after func()
}

func (s stopsAt) EndBulkItem(ctx context.Context, id string, it journal.BulkItem) error {
	err := s.Store.EndBulkItem(ctx, id, it)
	if it.No == s.no {
		s.after()
	}
	return err
}

// TestBulk_Stopped: what was not reached is left alone, on record.
func TestBulk_Stopped(t *testing.T) {
	t.Parallel()
	d := openDesk(t, func(o *postgres.Options) { o.Policy.BulkMax = 4 })
	ids := d.outage(5, journal.NotFound)
	b := d.freeze(journal.ListFilter{})
	if b.Count != 4 || b.Matched != 5 {
		t.Fatalf("%d of %d frozen, want 4 of 5", b.Count, b.Matched)
	}
	d.order(b, bulkOrder(b.ID, journal.VerbCloseNotLanded, ""))
	u, _ := useCase(d, journal.NotFound)
	store := stopsAt{d.Store, 2, func() {
		if err := d.StopBulk(t.Context(), b.ID, approver); err != nil {
			t.Error(err)
		}
	}}
	d.round(decide.NewBulkRunner(store, u, slog.New(slog.DiscardHandler)))
	b = d.bulk(b.ID)
	want := []string{"decided", "decided", "skipped stopped", "skipped stopped"}
	if diff := cmp.Diff(want, outcomes(b)); diff != "" || b.State != journal.BulkStopped || b.StoppedBy.Subject != "anna" {
		t.Errorf("%s by %s (-want +got):\n%s", b.State, b.StoppedBy.Subject, diff)
	}
	if n := d.count("select count(*) from audit where kind = 'bulk_stopped'"); n != 1 {
		t.Errorf("%d audit rows of the stop", n)
	}
	for i, id := range ids[2:] {
		if s := d.snap(id); s.Effect.State != journal.StateParked {
			t.Errorf("effect %d is %s", i+3, s.Effect.State)
		}
	}
	d.round(runner(d, &provider{d: d}))
	if diff := cmp.Diff(want, outcomes(d.bulk(b.ID))); diff != "" {
		t.Errorf("after another round (-want +got):\n%s", diff)
	}
}

// deaf is a provider that can't be asked.
type deaf struct{}

func (deaf) CanLook(string) bool { return true }
func (deaf) LookNow(context.Context, string, string) (journal.Evidence, error) {
	return journal.Evidence{}, errors.New("no route to the provider")
}

// TestBulk_GivesUp: an item that can't be tried waits, holds up no other, and is
// given up after several tries.
func TestBulk_GivesUp(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	ids := d.outage(2, journal.NotFound)
	d.pass(ids[0], time.Hour) // its evidence is old
	b := d.freeze(journal.ListFilter{})
	d.order(b, bulkOrder(b.ID, journal.VerbCloseNotLanded, ""))
	r := runner(d, deaf{})
	for try := range 3 {
		d.round(r)
		if got := d.bulk(b.ID); try == 0 && (got.State != journal.BulkRunning || strings.Join(outcomes(got), "|") != "|decided") {
			t.Fatalf("after one try: %s %q", got.State, outcomes(got))
		}
		d.exec("update bulk_items set next_at = clock_timestamp() where bulk_id = $1", b.ID)
	}
	if got := d.bulk(b.ID); got.State != journal.BulkDone || outcomes(got)[0] != "refused failed" {
		t.Errorf("after three tries: %s %q", got.State, outcomes(got))
	}
}

// TestBulk_TwoRunnersAtOnce: leases that end at once make runners overlap on the
// same items; nothing is decided twice and every item has one outcome.
func TestBulk_TwoRunnersAtOnce(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	ids := d.outage(12, journal.NotFound)
	b := d.freeze(journal.ListFilter{})
	d.order(b, bulkOrder(b.ID, journal.VerbReissue, journal.NewKey))
	var wg sync.WaitGroup
	for range 3 {
		r := runner(d, &provider{d: d, verdict: journal.NotFound}).WithLease(time.Millisecond)
		wg.Go(func() {
			for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
				if err := r.Round(t.Context()); err != nil {
					t.Error(err)
					return
				}
				if got, err := d.Bulk(t.Context(), b.ID); err != nil || got.State == journal.BulkDone {
					return
				}
			}
			t.Error("it does not end")
		})
	}
	wg.Wait()
	d.wantAllDecidedOnce(b.ID, ids)
}

func (d *desk) wantAllDecidedOnce(bulk string, ids []string) {
	d.t.Helper()
	b := d.bulk(bulk)
	if b.State != journal.BulkDone || b.Tally()[journal.BulkDecided] != len(ids) {
		d.t.Errorf("%s: %v", b.State, b.Tally())
	}
	for i, id := range ids {
		if got := d.rows(id); got != [3]int{1, 1, 1} {
			d.t.Errorf("effect %d: decisions, deliveries, audit rows %v, want one each", i, got)
		}
	}
	if n := d.count("select count(*) from audit where kind like 'refused:%'"); n != 0 {
		d.t.Errorf("%d refusals on the trail", n)
	}
}

// blind has no provider to ask.
type blind struct{}

func (blind) CanLook(string) bool { return false }
func (blind) LookNow(context.Context, string, string) (journal.Evidence, error) {
	return journal.Evidence{}, errors.New("nobody to ask")
}

// TestBulk_DecidedSingly: what the same person decided by itself meanwhile, in the
// same words, is not counted as the bulk's.
func TestBulk_DecidedSingly(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	ids := d.outage(2, journal.NotFound)
	b := d.freeze(journal.ListFilter{})
	o := bulkOrder(b.ID, journal.VerbCloseNotLanded, "")
	d.order(b, o)
	one := d.decision(ids[0], journal.VerbCloseNotLanded, "")
	one.Reason, one.ReasonCode = o.Reason, o.ReasonCode
	if _, err := d.Decide(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	d.round(runner(d, blind{}))
	if diff := cmp.Diff([]string{"stale singly", "decided"}, outcomes(d.bulk(b.ID))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBulk_OldSetsGo: a set that nobody ordered is forgotten after a day.
func TestBulk_OldSetsGo(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.outage(2, journal.NotFound)
	old, fresh, ordered := d.freeze(journal.ListFilter{}), d.freeze(journal.ListFilter{}), d.freeze(journal.ListFilter{})
	d.order(ordered, bulkOrder(ordered.ID, journal.VerbCloseLanded, ""))
	d.exec("update bulks set created_at = created_at - interval '25 hours' where id <> $1", fresh.ID)
	if err := d.DropOldBulks(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Bulk(t.Context(), old.ID); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("the old set: %v", err)
	}
	for _, b := range []journal.Bulk{fresh, ordered} {
		if got := d.bulk(b.ID); len(got.Items) != 2 {
			t.Errorf("%s has %d items", got.State, len(got.Items))
		}
	}
}
