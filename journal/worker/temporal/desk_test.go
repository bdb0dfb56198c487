package temporal_test

import (
	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/resume"
	target "github.com/landedhq/landed/providers/resume/temporal"
	"github.com/landedhq/landed/providers/resume/temporal/temporaltest"
)

// inState waits until one effect, and no other, is in a state, and returns its id.
func (s *stage) inState(state journal.State) string {
	s.t.Helper()
	var id string
	s.until("an effect in state "+string(state), func() bool {
		if _, err := s.store.Sweep(s.t.Context(), 100); err != nil {
			s.t.Fatal(err)
		}
		ids := s.effects(state)
		if len(ids) == 1 {
			id = ids[0]
		}
		return len(ids) == 1
	})
	return id
}

func (s *stage) effects(state journal.State) []string {
	s.t.Helper()
	rows, err := s.store.Pool().Query(s.t.Context(), "select id::text from effects where state = $1 or $1 = '' order by created_at", string(state))
	if err != nil {
		s.t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		s.t.Fatal(err)
	}
	return ids
}

func (s *stage) snap(id string) journal.Snapshot {
	s.t.Helper()
	one, err := s.store.Snapshot(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return one
}

// look records evidence as the collector would.
func (s *stage) look(id string, v journal.Verdict) {
	s.t.Helper()
	now := s.snap(id)
	e := journal.Evidence{EffectID: id, Adapter: "mail", Kind: "test", Verdict: v, StartedAt: now.Now, FinishedAt: now.Now, Digest: journal.NewToken(), RequestedBy: "schedule"}
	if v == journal.NotFound {
		e.CoversAttempt = now.Effect.Attempt
	}
	if _, err := s.store.RecordEvidence(s.t.Context(), e); err != nil {
		s.t.Fatal(err)
	}
}

// decide looks and decides as an operator would: close what landed, order again
// what did not.
func (s *stage) decide(id string, landedThere bool) journal.Decision {
	s.t.Helper()
	verdict, verb, mode := journal.NotFound, journal.VerbReissue, journal.NewKey
	if landedThere {
		verdict, verb, mode = journal.Found, journal.VerbCloseLanded, journal.ReissueMode("")
	}
	s.look(id, verdict)
	return s.decideAs(id, verb, mode)
}

func (s *stage) decideAs(id string, verb journal.Verb, mode journal.ReissueMode) journal.Decision {
	s.t.Helper()
	out, err := s.store.Decide(s.t.Context(), s.decision(id, verb, mode))
	if err != nil {
		s.t.Fatalf("deciding %s: %v", verb, err)
	}
	return out
}

// decision is an operator's word on what is known now.
func (s *stage) decision(id string, verb journal.Verb, mode journal.ReissueMode) journal.Decision {
	s.t.Helper()
	now := s.snap(id)
	d := journal.Decision{EffectID: id, Verb: verb, Mode: mode, Expected: now.Effect.Version, Digest: now.EvidenceDigest(),
		Actor:  journal.Actor{Issuer: "https://idp.test", Subject: "olga", Name: "Olga", Roles: []journal.Role{journal.RoleOperator}},
		Source: "page", ReasonCode: "confirmed_by_person", Reason: "asked the customer by phone"}
	if verb == journal.VerbCloseLanded {
		d.ProviderID = "p-1"
	}
	return d
}

// dispatcher hands over what is due.
func (s *stage) dispatcher(store resume.Store) *resume.Dispatcher {
	s.t.Helper()
	if store == nil {
		store = s.store
	}
	to, err := target.Config{Name: "temporal", URL: s.server.URL, Namespace: temporaltest.Namespace, AllowPrivate: true, AllowPlainHTTP: true}.Open()
	if err != nil {
		s.t.Fatal(err)
	}
	d, err := resume.New(resume.Config{Store: store, Targets: []resume.Target{to}, External: "https://desk.example.com"})
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// deliver makes one round and returns the newest try's outcome on an effect.
func (s *stage) deliver(id string) journal.HandoverOutcome {
	s.t.Helper()
	if err := s.dispatcher(nil).Round(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return s.newest(id).Outcome
}

// newest is the newest try of handing over an effect's resolutions.
func (s *stage) newest(id string) journal.HandoverTry {
	s.t.Helper()
	c, err := s.store.Case(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(c.HandoverTries) == 0 {
		return journal.HandoverTry{}
	}
	s.t.Logf("handed over: %+v", c.HandoverTries[0])
	return c.HandoverTries[0]
}

// due makes every open delivery due now, as if the claim's lease or the wait
// between tries had passed.
func (s *stage) due() {
	s.t.Helper()
	if _, err := s.store.Pool().Exec(s.t.Context(), "update deliveries set next_at = clock_timestamp() where acked_at is null"); err != nil {
		s.t.Fatal(err)
	}
}

// wantCount checks the one number that matters.
func (s *stage) wantCount(n int) {
	s.t.Helper()
	if got := s.provider.Count(); got != n {
		s.t.Errorf("the provider saw %d requests, want %d: %+v", got, n, s.provider.Requests())
	}
}

// wantState checks that an effect is where it should be, and its audit log whole.
func (s *stage) wantState(id string, want journal.State) {
	s.t.Helper()
	if got := s.snap(id).Effect.State; got != want {
		s.t.Errorf("effect %s is %s, want %s", id, got, want)
	}
	if _, err := s.store.VerifyAudit(s.t.Context()); err != nil {
		s.t.Error(err)
	}
}
