package postgres_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/decide"
	"github.com/landedhq/landed/journal/postgres"
)

var (
	storyCount = flag.Int("decide.stories", 120, "how many random stories of decisions TestDecisionStories plays")
	storySeed  = flag.Uint64("decide.seed", 1, "where their dice begin")
)

// TestDecisionStories lets two operators and an approver decide at random, on
// ground that is fresh or stale, with logins that are fresh or old, while late
// commits, looks and workers come in between and calls are cut off half-way, as
// by kill -9, and made again. After each act and at the end everything that the
// journal promises of decisions has to hold. A thousand stories:
//
//	go test ./journal/postgres -run TestDecisionStories -decide.stories 1000
func TestDecisionStories(t *testing.T) {
	t.Parallel()
	d := openDesk(t, func(o *postgres.Options) {
		o.Policy.Overrides = []string{journal.WhyFound, journal.WhyDuplicate, journal.WhyTooEarly}
		o.Policy.BreakGlass = []string{"commanders"}
		o.Policy.SettleFound = map[string]bool{"ticket.create": true}
		o.Policy.Rules = []journal.Rule{
			{Name: "mails twice", Tools: []string{"mail.*"}, Verbs: []journal.Verb{journal.VerbReissue}, FourEyes: true},
			{Name: "payments", Tools: []string{"pay"}, FourEyes: true, StepUp: true},
		}
	})
	seen := map[string]int{}
	for n := range *storyCount {
		s := &decisionStory{d: d, dice: rand.New(rand.NewPCG(*storySeed, uint64(n))), seen: seen, n: n}
		s.play(t)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d stories: %v", *storyCount, seen)
	// A test that never gets there proves nothing.
	for _, must := range []string{"decided", "proposed", "approved", "rejected", "stale", "blocked", "cut off", "step_up", "own_proposal", "break-glass", "reopened", "late commit", "order picked up"} {
		if seen[must] == 0 && *storyCount >= 100 {
			t.Errorf("no story came to %q", must)
		}
	}
}

// decisionStory is one effect and what happens to it.
type decisionStory struct {
	d     *desk
	dice  *rand.Rand
	n     int
	r     journal.BeginRequest
	id    string
	calls []journal.BeginAnswer // the attempts that a worker was given
	acts  []string
	mu    sync.Mutex
	seen  map[string]int
}

func pick[T any](dice *rand.Rand, of ...T) T { return of[dice.IntN(len(of))] }

func (s *decisionStory) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[what]++
	s.acts = append(s.acts, what)
}

func (s *decisionStory) play(t *testing.T) {
	s.r = request(pick(s.dice, "mail.send", "mail.send", "pay", "ticket.create"), fmt.Sprintf("story-%d", s.n))
	s.r.RootRun, s.r.Args = s.r.Key, fmt.Appendf(nil, `{"order":"A%d"}`, s.n)
	a := s.d.begin(s.r)
	s.id, s.calls = a.EffectID, []journal.BeginAnswer{a}
	s.d.pass(s.id, 10*time.Minute)
	s.d.sweep()
	if s.r.Tool == "ticket.create" && s.dice.IntN(2) == 0 {
		s.d.look(s.id, journal.Found) // which policy settles
	}
	for range 6 + s.dice.IntN(12) {
		if s.dice.IntN(4) == 0 { // two at once
			one, two := s.act(), s.act()
			var wg sync.WaitGroup
			wg.Go(one)
			wg.Go(two)
			wg.Wait()
		} else {
			s.act()()
		}
		if err := s.holds(); err != nil {
			t.Errorf("story %d: %v\n  %s", s.n, err, strings.Join(s.acts, "\n  "))
			return
		}
		if snap := s.d.snap(s.id); snap.Effect.State.Closed() && !snap.Reopenable() && s.dice.IntN(3) == 0 {
			return // what may still come is told by the other stories
		}
	}
}

// act picks what happens next; its dice fall now, so that acts may run at once.
func (s *decisionStory) act() func() {
	snap := s.d.snap(s.id)
	switch s.dice.IntN(24) {
	case 0, 1, 2, 3, 4, 5, 6, 7:
		return s.deciding(snap)
	case 8, 9, 10, 11, 12, 13, 14, 15:
		return s.answering(snap)
	case 16, 17, 18:
		return s.looking()
	case 19:
		last := s.calls[s.dice.IntN(len(s.calls))]
		return func() {
			s.note("late commit")
			_, err := s.d.Commit(context.WithoutCancel(s.d.t.Context()), journal.CommitRequest{Report: report(s.r, last), ProviderID: "p-1"})
			if err != nil && !errors.Is(err, journal.ErrCommitConflict) && !errors.Is(err, journal.ErrConflict) {
				s.d.t.Errorf("committing: %v", err)
			}
		}
	case 20, 21, 22:
		return s.working()
	}
	by := pick(s.dice, time.Minute, 10*time.Minute, 2*time.Hour)
	return func() {
		s.note("time passes")
		s.d.pass(s.id, by)
		s.d.sweep()
	}
}

// person is one of the three, signed in just now or hours ago.
func (s *decisionStory) person() journal.Actor {
	who := pick(s.dice, operator, journal.Actor{Issuer: operator.Issuer, Subject: "otto", Name: "Otto", Roles: operator.Roles}, approver)
	who.AuthAt = time.Now().Add(-pick(s.dice, 0, 0, 0, 3*time.Hour))
	if s.dice.IntN(2) == 0 {
		who.Groups = []string{"commanders"}
	}
	return who
}

func (s *decisionStory) deciding(snap journal.Snapshot) func() {
	c := pick(s.dice, journal.Choices()...)
	for c.Verb == journal.VerbReopen && !snap.Reopenable() && s.dice.IntN(4) > 0 {
		c = pick(s.dice, journal.Choices()...)
	}
	if snap.Reopenable() && s.dice.IntN(2) == 0 {
		c = journal.Choice{Verb: journal.VerbReopen}
	}
	one := journal.Decision{EffectID: s.id, Verb: c.Verb, Mode: c.Mode, Expected: snap.Effect.Version, Digest: snap.EvidenceDigest(), Actor: s.person(), Source: "page",
		ReasonCode: "confirmed_by_person", Reason: pick(s.dice, "asked the customer by phone", "asked the customer by phone", "asked the customer by phone", "asked the customer by phone", "asked the customer by phone", "ok"), BreakGlass: s.dice.IntN(4) == 0}
	if s.dice.IntN(2) == 0 {
		one.Overrides = []string{journal.WhyFound, journal.WhyDuplicate, journal.WhyTooEarly}
	}
	if s.dice.IntN(8) == 0 {
		one.Expected-- // a page from before
	}
	cut := s.cut()
	return func() {
		r, err := cut(func(ctx context.Context, u *decide.UseCase) (decide.Result, error) { return u.Decide(ctx, one) })
		s.outcome(r, err, one.Verb)
	}
}

func (s *decisionStory) answering(snap journal.Snapshot) func() {
	p := snap.Proposal
	if p == nil {
		return s.deciding(snap)
	}
	a := journal.Approval{ProposalID: p.ID, EffectID: s.id, Actor: s.person(), Reason: "checked it with the customer", Expected: snap.Effect.Version, Digest: snap.EvidenceDigest()}
	if s.dice.IntN(2) == 0 { // mostly by whom it waits for
		a.Actor = approver
		a.Actor.AuthAt = time.Now()
	}
	if s.dice.IntN(6) == 0 {
		return func() {
			if err := s.d.useCase().Reject(context.WithoutCancel(s.d.t.Context()), a); err == nil {
				s.note("rejected")
			}
		}
	}
	cut := s.cut()
	return func() {
		r, err := cut(func(ctx context.Context, u *decide.UseCase) (decide.Result, error) { return u.Approve(ctx, a) })
		if err == nil {
			s.note("approved")
		}
		s.outcome(r, err, p.Decision.Verb)
	}
}

// cut runs a call whole, or cuts it off at some moment and makes it again, as a
// person does whose server died under the click.
func (s *decisionStory) cut() func(func(context.Context, *decide.UseCase) (decide.Result, error)) (decide.Result, error) {
	after := time.Duration(0)
	if s.dice.IntN(3) == 0 {
		after = time.Duration(s.dice.IntN(6000)) * time.Microsecond
	}
	return func(call func(context.Context, *decide.UseCase) (decide.Result, error)) (decide.Result, error) {
		ctx := context.WithoutCancel(s.d.t.Context())
		if after > 0 {
			short, cancel := context.WithTimeout(ctx, after)
			r, err := call(short, s.d.useCase())
			cancel()
			if err == nil || !errors.Is(short.Err(), context.DeadlineExceeded) {
				return r, err
			}
			s.note("cut off")
		}
		return call(ctx, s.d.useCase())
	}
}

func (d *desk) useCase() *decide.UseCase {
	return decide.New(d.Store, sameAgain{d}, slog.New(slog.DiscardHandler))
}

// sameAgain is a provider that says what it said before.
type sameAgain struct{ d *desk }

func (sameAgain) CanLook(provider string) bool { return provider == "asked" }

func (p sameAgain) LookNow(_ context.Context, id, _ string) (journal.Evidence, error) {
	s := p.d.snap(id)
	v := journal.NotFound
	if l, ok := s.LastLook(); ok {
		v = l.Verdict
	}
	return p.d.look(id, v), nil
}

func (s *decisionStory) outcome(r decide.Result, err error, v journal.Verb) {
	var (
		stale   *journal.StaleError
		blocked *journal.BlockedError
		invalid *journal.InvalidError
	)
	switch {
	case errors.As(err, &stale):
		s.note("stale")
	case errors.As(err, &blocked):
		s.note("blocked")
	case errors.As(err, &invalid):
		s.note("invalid")
	case policyCode(err) != "":
		s.note(policyCode(err))
	case errors.Is(err, journal.ErrConflict):
		s.note("conflict")
	case err != nil:
		s.d.t.Errorf("an error that says nothing to a person: %v", err)
	case r.Proposal != nil:
		s.note("proposed")
	default:
		s.note("decided")
		if r.Decision.BreakGlass {
			s.note("break-glass")
		}
		if v == journal.VerbReopen {
			s.note("reopened")
		}
	}
}

func (s *decisionStory) looking() func() {
	v := pick(s.dice, journal.NotFound, journal.NotFound, journal.Found, journal.Duplicate, journal.CannotTell)
	return func() {
		s.note("look " + string(v))
		snap := s.d.snap(s.id)
		e := journal.Evidence{EffectID: s.id, Adapter: "asked", Kind: "test", Verdict: v, StartedAt: snap.Now, FinishedAt: snap.Now, Digest: journal.NewToken(), RequestedBy: "schedule"}
		switch v {
		case journal.CannotTell:
			e.Reason, e.LookAgainAt = journal.CannotTooEarly, snap.Now.Add(time.Minute)
		case journal.NotFound:
			e.CoversAttempt = snap.Effect.Attempt
		case journal.Found:
			e.Matches = []journal.Match{{ID: "m-1"}}
		}
		if _, err := s.d.RecordEvidence(context.WithoutCancel(s.d.t.Context()), e); err != nil && !errors.Is(err, journal.ErrConflict) {
			s.d.t.Errorf("recording evidence: %v", err)
		}
	}
}

// working has a worker come back; what it is given it does, reports, or leaves.
func (s *decisionStory) working() func() {
	end := pick(s.dice, "commit", "refused", "leave")
	r := s.r
	r.ClaimID = journal.NewToken()
	return func() {
		ctx := context.WithoutCancel(s.d.t.Context())
		a, err := s.d.Begin(ctx, r)
		if err != nil || a.Directive != journal.DirectiveExecute {
			return
		}
		s.note("order picked up")
		s.mu.Lock()
		s.calls = append(s.calls, a)
		s.mu.Unlock()
		switch end {
		case "commit":
			_, err = s.d.Commit(ctx, journal.CommitRequest{Report: report(s.r, a), ProviderID: "p-2"})
		case "refused":
			_, err = s.d.Fail(ctx, journal.FailRequest{Report: report(s.r, a), Phase: journal.PhaseRefused, Final: true, Error: "no"})
		}
		if err != nil && !errors.Is(err, journal.ErrConflict) {
			s.d.t.Errorf("a worker's report: %v", err)
		}
	}
}

// promises are statements that find what must not be; $1 is the effect.
func promises() map[string]string {
	return map[string]string{
		"a version was decided twice": `select effect_version from decisions where effect_id = $1 group by 1 having count(*) > 1`,
		"a decision without its audit row": `select d.id from decisions d where d.effect_id = $1 and not exists (
			select from audit a where a.seq = d.audit_seq and a.effect_id = d.effect_id and a.kind = 'decided:' || d.verb)`,
		"an audit row without its decision": `select a.seq from audit a where a.effect_id = $1 and a.kind like 'decided:%' and not exists (select from decisions d where d.audit_seq = a.seq)`,
		"a decision that no runtime will hear of": `select d.id from decisions d where d.effect_id = $1 and not exists (
			select from deliveries x where x.audit_seq = d.audit_seq)`,
		"a person who approved their own": `select id from decisions where effect_id = $1 and approver_subject = subject and approver_issuer = issuer`,
		"a re-issued mail that one person ordered": `select d.id from decisions d join effects e on e.id = d.effect_id where e.id = $1 and e.tool = 'mail.send'
			and d.verb = 'reissue' and d.approver_subject = '' and not d.break_glass`,
		"a payment that one person decided": `select d.id from decisions d join effects e on e.id = d.effect_id where e.id = $1 and e.tool = 'pay'
			and d.approver_subject = '' and not d.break_glass`,
		"a block passed over by one person":        `select id from decisions where effect_id = $1 and overrides <> '{}' and approver_subject = '' and not break_glass`,
		"a broken glass that nobody reviews":       `select d.id from decisions d where d.effect_id = $1 and d.break_glass and not exists (select from reviews r where r.decision_id = d.id)`,
		"a reason that says nothing":               `select id from decisions where effect_id = $1 and length(reason) < 8`,
		"two open proposals":                       `select count(*) from proposals where effect_id = $1 and ended = '' having count(*) > 1`,
		"a proposal on what nobody decides now":    `select p.id from proposals p join effects e on e.id = p.effect_id where e.id = $1 and p.ended = '' and e.state not in ('INTENT', 'PARKED', 'COMMITTED')`,
		"an approved proposal without a decision":  `select p.id from proposals p where p.effect_id = $1 and p.ended = 'approved' and not exists (select from decisions d where d.proposal_id = p.id)`,
		"a proposal's decision that was not asked": `select d.id from decisions d join proposals p on p.id = d.proposal_id where d.effect_id = $1 and (d.verb, d.mode, d.subject) <> (p.verb, p.mode, p.actor ->> 'sub')`,
		"an attempt more than orders and begins": `select e.id from effects e where e.id = $1 and e.class = 'at_most_once'
			and e.attempt > 1 + (select count(*) from decisions d where d.effect_id = e.id and d.verb = 'reissue')
				+ (select count(*) from attempts a where a.effect_id = e.id and a.phase in ('not_sent', 'refused'))`,
		"an open effect on no list": `select id from effects where id = $1 and state in ('PARKED', 'REISSUE') and attention_at is null`,
		"an outcome that nobody was told, on no list": `select e.id from effects e where e.id = $1 and e.attention_at is null and e.state <> 'INTENT'
			and exists (select from deliveries d where d.effect_id = e.id and d.acked_at is null)`,
		"two attempts that own it": `select count(*) from attempts where effect_id = $1 and fenced_at is null having count(*) > 1`,
	}
}

func (s *decisionStory) holds() error {
	ctx := context.WithoutCancel(s.d.t.Context())
	for what, sql := range promises() {
		rows, err := s.d.Pool().Query(ctx, sql, s.id)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		found := rows.Next()
		rows.Close()
		if err := rows.Err(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if found {
			return errors.New(what)
		}
	}
	return asAfresh(ctx, s.d.Store, journal.ListFilter{RootRun: s.r.RootRun})
}
