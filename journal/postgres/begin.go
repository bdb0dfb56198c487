package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// RegisterTool records a tool, or a change of it. Idempotent; a change of class
// holds for new effects.
func (s *Store) RegisterTool(ctx context.Context, t journal.Tool) error {
	if err := t.Validate(); err != nil {
		return err
	}
	p := sqlc.PutToolParams{Name: t.Name, Class: string(t.Class), Provider: t.Provider, KeyWindowMs: ms(t.KeyWindow),
		ClientTimeoutMs: ms(t.ClientTimeout), IdentityFields: list(t.IdentityFields), DisplayFields: list(t.DisplayFields), ArgsSchema: t.ArgsSchema,
		CompensatedBy: t.CompensatedBy, CompensateRun: t.CompensateRun}
	_, err := s.q.PutTool(ctx, s.pool, p)
	s.tools.Delete(t.Name)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // nothing changed
	}
	return mapError("registering tool "+t.Name, err)
}

func list(v []string) []string {
	if v == nil {
		return []string{}
	}
	return v
}

// tool returns a registered tool, from memory where it can.
func (s *Store) tool(ctx context.Context, name string) (toolRow, error) {
	if t, ok := s.tools.Load(name); ok {
		return t.(toolRow), nil
	}
	r, err := s.q.ToolByName(ctx, s.pool, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return toolRow{}, journal.ErrUnknownTool
	}
	if err != nil {
		return toolRow{}, mapError("loading tool "+name, err)
	}
	t := toTool(r)
	s.tools.Store(name, t)
	return t, nil
}

// Begin answers with a directive. On the happy path it is one INSERT.
func (s *Store) Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error) {
	if err := r.ValidateFields(); err != nil {
		return journal.BeginAnswer{}, err
	}
	for range maxTries {
		t, err := s.tool(ctx, r.Tool)
		if err != nil {
			return journal.BeginAnswer{}, err
		}
		if t.Class == journal.ClassReadOnly {
			return journal.BeginAnswer{}, journal.ErrNotJournaled
		}
		fp, err := journal.Fingerprint(t.IdentityFields, r)
		if err != nil {
			return journal.BeginAnswer{}, err
		}
		a, err := s.insert(ctx, t, r, fp)
		if err == nil {
			return a, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return journal.BeginAnswer{}, s.insertError(err)
		}
		if a, again, err := s.beginExisting(ctx, t, r, fp); !again {
			return a, err
		}
		s.tools.Delete(r.Tool) // nothing stood in the way: the tool changed meanwhile
	}
	return journal.BeginAnswer{}, journal.ErrConflict
}

func (s *Store) insertError(err error) error {
	if isCode(err, "23505") && constraint(err) == "effects_successor" {
		return journal.ErrSupersedesOpen
	}
	if isCode(err, "23505") && constraint(err) == "effects_compensation" {
		return journal.ErrNotCompensable
	}
	return mapError("beginning an effect", err)
}

// insert is the happy path.
func (s *Store) insert(ctx context.Context, t toolRow, r journal.BeginRequest, fp string) (journal.BeginAnswer, error) {
	now := time.Now()
	lease := s.lease(r)
	ref, token := journal.Ref(r.Namespace, r.Key), journal.NewToken()
	id := journal.NewID(now)
	p := sqlc.BeginEffectParams{
		ID: id, Namespace: r.Namespace, Key: r.Key, Ref: ref, ClientTimeoutMs: ms(r.ClientTimeout),
		RootRun: r.RootRun, RootRunStartedAt: timePtr(r.RootRunStartedAt), Turn: r.Turn, Run: r.Run, Step: r.Step, Operation: r.Operation,
		Subject: r.Subject, Amount: r.Amount, Currency: r.Currency, Labels: labels(r.Labels), Args: r.Args, Fingerprint: fp,
		FingerprintRule: journal.FingerprintRule, Resume: r.Resume, Traceparent: r.Traceparent,
		ClaimID: r.ClaimID, LeaseToken: token, Worker: r.Worker, LeaseMs: ms(lease), Tool: r.Tool, ToolVersion: t.Version, KeyHash: keyHash(r.Namespace, r.Key),
	}
	row, err := s.insertRow(ctx, p, r.Supersedes, r.Compensates)
	if err != nil {
		return journal.BeginAnswer{}, err
	}
	return journal.BeginAnswer{
		Directive: journal.DirectiveExecute, EffectID: id, Attempt: 1, LeaseToken: token, LeaseFor: lease, SendBy: lease,
		Deadline: lease + fromMS(row.AttemptTimeoutMs), Ref: ref, Issue: 1, ProviderKey: journal.ProviderKey(ref, 1),
		KeyWindow: fromMS(row.KeyWindowMs), State: journal.StateIntent,
	}, nil
}

// insertRow writes with whoever writes now. A batch that failed as a whole says
// nothing of the row: it is written again alone, and if it was there already,
// begin finds it by its claim id.
func (s *Store) insertRow(ctx context.Context, p sqlc.BeginEffectParams, supersedes, compensates string) (sqlc.BeginEffectRow, error) {
	if supersedes != "" {
		row, err := s.q.BeginSuccessor(ctx, s.pool, successor(p, supersedes))
		return sqlc.BeginEffectRow(row), err
	}
	if compensates != "" {
		row, err := s.q.BeginCompensation(ctx, s.pool, compensation(p, compensates))
		return sqlc.BeginEffectRow(row), err
	}
	if s.begins != nil {
		if out, ok := s.begins.do(ctx, p); ok {
			return out.value, out.err
		}
	}
	return s.q.BeginEffect(ctx, s.pool, p)
}

func successor(p sqlc.BeginEffectParams, of string) sqlc.BeginSuccessorParams {
	return sqlc.BeginSuccessorParams{ID: p.ID, Namespace: p.Namespace, Key: p.Key, Ref: p.Ref, ClientTimeoutMs: p.ClientTimeoutMs, RootRun: p.RootRun,
		RootRunStartedAt: p.RootRunStartedAt, Turn: p.Turn, Run: p.Run, Step: p.Step, Operation: p.Operation, Subject: p.Subject, Amount: p.Amount,
		Currency: p.Currency, Labels: p.Labels, Args: p.Args, Fingerprint: p.Fingerprint, FingerprintRule: p.FingerprintRule, Resume: p.Resume,
		Traceparent: p.Traceparent, ClaimID: p.ClaimID, LeaseToken: p.LeaseToken, Worker: p.Worker, LeaseMs: p.LeaseMs, Tool: p.Tool,
		ToolVersion: p.ToolVersion, KeyHash: p.KeyHash, Supersedes: of}
}

func (s *Store) lease(r journal.BeginRequest) time.Duration {
	if r.Lease <= 0 {
		return s.policy.DefaultLease
	}
	return min(max(r.Lease, s.policy.MinLease), s.policy.MaxLease)
}

func labels(m map[string]string) []byte {
	if len(m) == 0 {
		return nil
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil // a map of strings always encodes
	}
	return b
}

// keyHash is what a tombstone keeps of a key.
func keyHash(namespace, key string) []byte {
	b := append(make([]byte, 0, 512), "landed/key/1\x00"...)
	b = append(strconv.AppendInt(b, int64(len(namespace)), 10), 0)
	sum := sha256.Sum256(append(append(append(b, namespace...), 0), key...))
	return sum[:]
}

// beginExisting explains why the insert did not happen. again is true when the
// reason has gone meanwhile.
func (s *Store) beginExisting(ctx context.Context, t toolRow, r journal.BeginRequest, fp string) (a journal.BeginAnswer, again bool, err error) {
	meta, err := s.q.Meta(ctx, s.pool, ms(clockMargin))
	if err != nil {
		return a, false, mapError("loading the journal's state", err)
	}
	if meta.Quarantined {
		return a, false, journal.ErrRestored
	}
	err = s.transition(ctx, s.byKey(r.Namespace, r.Key), func(_ context.Context, _ pgx.Tx, l *loaded) (journal.Change, bool, error) {
		if c, err := s.identity(l, t, r, fp); err != nil {
			return c, true, err
		}
		c, ans, err := l.Begin(r)
		if err != nil {
			return c, false, err
		}
		if !l.Effect.Corrected {
			_, ans.Drift = journal.DiffArgs(t.IdentityFields, l.Effect.Args, r.Args)
		}
		if len(ans.Drift) > 0 && !l.Effect.Drifted && r.Args != nil {
			c.Effect.Drifted = true
			c.Events = append(c.Events, driftEvent(l, r, ans.Drift))
		}
		a = ans
		return c, true, nil
	})
	if !errors.Is(err, journal.ErrNotFound) {
		return a, false, err
	}
	gone, terr := s.q.TombstoneExists(ctx, s.pool, keyHash(r.Namespace, r.Key))
	switch {
	case terr != nil:
		return a, false, mapError("looking for a tombstone", terr)
	case gone:
		return a, false, journal.ErrExpired
	case r.Supersedes != "" && !s.supersedable(ctx, r):
		return a, false, journal.ErrSupersedesOpen
	case r.Compensates != "" && !s.compensable(ctx, r):
		return a, false, journal.ErrNotCompensable
	case beforeRecovery(meta, r):
		a, err = s.parkAtBirth(ctx, t, r, fp, meta.DbNow)
		return a, errors.Is(err, errConflict), err
	}
	return a, true, nil
}

func (s *Store) supersedable(ctx context.Context, r journal.BeginRequest) bool {
	e, err := s.q.EffectByID(ctx, s.pool, r.Supersedes)
	return err == nil && e.Effect.Namespace == r.Namespace && !e.Effect.Contradicted &&
		(e.Effect.State == string(journal.StateAbandoned) || e.Effect.State == string(journal.StateRejected))
}

// identity refuses another tool or another identity under the key. Nothing
// changes but one event with both fingerprints and the differing fields.
func (s *Store) identity(l *loaded, t toolRow, r journal.BeginRequest, fp string) (journal.Change, error) {
	same := l.Effect.Fingerprint == fp
	if !same && l.Effect.Args != nil && r.Args != nil { // the tool may name other identity fields by now
		was, err := journal.Fingerprint(t.IdentityFields, journal.BeginRequest{Args: l.Effect.Args})
		same = err == nil && was == fp
	}
	undoes := l.Effect.Compensates == r.Compensates
	if l.Effect.Corrected && l.Effect.Tool == r.Tool { // its args are a person's: whoever begins it runs those
		return journal.Change{}, nil
	}
	if same && undoes && l.Effect.Tool == r.Tool || l.Effect.Orphan && l.Effect.Tool == r.Tool {
		return journal.Change{}, nil
	}
	e := &journal.KeyReusedError{EffectID: l.Effect.ID, Tool: l.Effect.Tool}
	e.Fields, _ = journal.DiffArgs(t.IdentityFields, l.Effect.Args, r.Args)
	if !undoes {
		e.Fields = append([]journal.FieldDiff{{Field: "compensates", Was: l.Effect.Compensates, Now: r.Compensates}}, e.Fields...)
	}
	if l.Effect.Tool != r.Tool {
		e.Fields = append([]journal.FieldDiff{{Field: "tool", Was: l.Effect.Tool, Now: r.Tool}}, e.Fields...)
	}
	detail, err := json.Marshal(map[string]any{"was": l.Effect.Fingerprint, "now": fp, "fields": e.Fields})
	if err != nil {
		detail = nil
	}
	c := journal.Change{Effect: l.Effect}
	c.Events = []journal.Event{{At: l.Now, Kind: journal.EventKeyReused, Actor: "worker:" + r.Worker, Detail: detail}}
	return c, e
}

func driftEvent(l *loaded, r journal.BeginRequest, d []journal.FieldDiff) journal.Event {
	detail, err := json.Marshal(d)
	if err != nil {
		detail = nil
	}
	return journal.Event{At: l.Now, Kind: journal.EventDrift, Actor: "worker:" + r.Worker, Detail: detail}
}
