package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/audit"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// Checkpoint is a row of the audit trail as it was noted somewhere else.
type Checkpoint struct {
	Seq  int64  `json:"seq"`
	Hash []byte `json:"hash"`
}

// Checkpoint reads the newest audit row, to be kept outside of the database.
func (s *Store) Checkpoint(ctx context.Context) (Checkpoint, error) {
	h, err := s.q.AuditHead(ctx, s.pool)
	return Checkpoint{Seq: h.Seq, Hash: h.Hash}, mapError("reading the audit head", err)
}

// CheckIdentity finds out whether the journal still runs on the database that
// it ran on before, and whether its audit trail still holds the checkpoint kept
// elsewhere (nil = none is kept). If not, the journal is quarantined: begin
// answers journal_restored until an admin calls Recover. why is empty if all is
// well; the first call adopts the database.
func (s *Store) CheckIdentity(ctx context.Context, kept *Checkpoint) (why string, err error) {
	meta, err := s.q.Meta(ctx, s.pool, ms(clockMargin))
	if err != nil {
		return "", mapError("reading the journal's identity", err)
	}
	if meta.Quarantined {
		return meta.QuarantineWhy, nil
	}
	now, err := s.q.Identity(ctx, s.pool)
	if err != nil {
		return "", mapError("reading the database's identity", err)
	}
	switch {
	case meta.SystemID == "":
		return "", mapError("keeping the database's identity", s.q.AdoptIdentity(ctx, s.pool, sqlc.AdoptIdentityParams(now)))
	case meta.SystemID != now.SystemID:
		why = "the database cluster is another one than before"
	case meta.Timeline != now.Timeline:
		why = fmt.Sprintf("the database is on timeline %d and was on %d: it was restored or failed over", now.Timeline, meta.Timeline)
	case kept != nil:
		if why, err = s.missing(ctx, *kept); err != nil {
			return "", err
		}
	}
	if why == "" {
		return "", nil
	}
	s.log.ErrorContext(ctx, "the journal is quarantined", "why", why)
	_, err = s.q.Quarantine(ctx, s.pool, why)
	return why, mapError("quarantining the journal", err)
}

// missing says how the audit trail falls short of a checkpoint, or "".
func (s *Store) missing(ctx context.Context, kept Checkpoint) (string, error) {
	if kept.Seq == 0 {
		return "", nil
	}
	rows, err := s.q.AuditAfter(ctx, s.pool, sqlc.AuditAfterParams{After: kept.Seq - 1, MaxRows: 1})
	if err != nil {
		return "", mapError("reading the audit trail", err)
	}
	switch {
	case len(rows) == 0:
		return fmt.Sprintf("the audit trail is shorter than the checkpoint of row %d", kept.Seq), nil
	case string(rows[0].Hash) != string(kept.Hash):
		return fmt.Sprintf("audit row %d is another one than the checkpoint", kept.Seq), nil
	}
	return "", nil
}

// Recover ends the quarantine. The admin names the restore point: what happened
// after it is not in the journal. Every INTENT and REISSUE is fenced, loses its
// order and is parked, as its worker may have gone on; unknown keys of runs that
// began before now are parked at birth. It returns how many effects it parked,
// and may be called again if it failed halfway.
func (s *Store) Recover(ctx context.Context, by journal.Actor, point time.Time, reason string) (parked int, err error) {
	meta, err := s.q.Meta(ctx, s.pool, ms(clockMargin))
	if err != nil {
		return 0, mapError("reading the journal's identity", err)
	}
	if !meta.Quarantined {
		return 0, errors.New("the journal is not quarantined: there is nothing to recover")
	}
	if point.IsZero() || point.After(meta.DbNow) {
		return 0, errors.New("the restore point must be a time in the past: the last moment that the restored data knows")
	}
	for {
		ids, err := s.q.RestoredEffects(ctx, s.pool, 500)
		if err != nil {
			return parked, mapError("finding restored effects", err)
		}
		if len(ids) == 0 {
			break
		}
		for _, id := range ids {
			err := s.transition(ctx, s.byID(id), pure(func(l *journal.Snapshot) (journal.Change, error) { return l.Restored(), nil }))
			if err != nil {
				return parked, fmt.Errorf("parking effect %s: %w", id, err)
			}
			parked++
		}
	}
	return parked, s.endQuarantine(ctx, by, point, reason)
}

func (s *Store) endQuarantine(ctx context.Context, by journal.Actor, point time.Time, reason string) error {
	return mapError("ending the quarantine", pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		now, err := s.q.Identity(ctx, tx)
		if err != nil {
			return err
		}
		meta, err := s.q.Meta(ctx, tx, ms(clockMargin))
		if err != nil {
			return err
		}
		p := sqlc.RecoverParams{SystemID: now.SystemID, Timeline: now.Timeline, RecoveredAt: &meta.DbNow}
		if _, err := s.q.Recover(ctx, tx, p); err != nil {
			return err
		}
		_, err = s.audit(ctx, tx, audit.Entry{At: meta.DbNow, Kind: "recovered", Actor: "admin:" + by.Subject, Issuer: by.Issuer, Name: by.Name,
			Reason: clean(reason, journal.MaxReasonBytes), Result: audit.Done,
			Detail: map[string]string{"restore_point": point.UTC().Format(time.RFC3339), "why": meta.QuarantineWhy}})
		return err
	}))
}

// beforeRecovery: the key is unknown and its run may have begun effects that a
// recovery lost.
func beforeRecovery(meta sqlc.MetaRow, r journal.BeginRequest) bool {
	return meta.RecoveredAt != nil && !r.RootRunStartedAt.After(*meta.RecoveredAt)
}

// parkAtBirth keeps an effect that may have happened before a recovery: a person
// decides, nothing is executed.
func (s *Store) parkAtBirth(ctx context.Context, t toolRow, r journal.BeginRequest, fp string, now time.Time) (journal.BeginAnswer, error) {
	id, ref := journal.NewID(now), journal.Ref(r.Namespace, r.Key)
	p := sqlc.InsertEffectRowParams{ID: id, Namespace: r.Namespace, Key: r.Key, Ref: ref, Tool: t.Name, Class: string(t.Class), Provider: t.Provider,
		KeyWindowMs: ms(t.KeyWindow), ClientTimeoutMs: ms(max(t.ClientTimeout, r.ClientTimeout)), RootRun: r.RootRun, RootRunStartedAt: timePtr(r.RootRunStartedAt),
		Turn: r.Turn, Run: r.Run, Step: r.Step, Operation: r.Operation, Subject: r.Subject, Amount: r.Amount, Currency: r.Currency, Labels: labels(r.Labels),
		Args: r.Args, Fingerprint: fp, FingerprintRule: journal.FingerprintRule, Resume: r.Resume, Traceparent: r.Traceparent,
		State: string(journal.StateParked), ParkedReason: journal.ReasonRestored, At: now, Attempt: 1, LeaseToken: journal.NewToken(), Worker: r.Worker,
		Compensates: strPtr(r.Compensates)}
	if s.look(t.Provider) {
		p.NextLookAt = &now
	}
	if err := s.q.InsertEffectRow(ctx, s.pool, p); err != nil {
		if isCode(err, "23505") && constraint(err) == "effects_compensation" {
			return journal.BeginAnswer{}, journal.ErrNotCompensable
		}
		if isCode(err, "23505") {
			return journal.BeginAnswer{}, errConflict
		}
		return journal.BeginAnswer{}, mapError("parking an effect after a recovery", err)
	}
	cursor, err := s.q.AuditCursor(ctx, s.pool)
	if err != nil {
		return journal.BeginAnswer{}, mapError("loading the audit cursor", err)
	}
	return journal.BeginAnswer{Directive: journal.DirectiveParked, EffectID: id, Attempt: 1, Ref: ref, Issue: 1,
		State: journal.StateParked, Reason: journal.ReasonRestored, Cursor: cursor}, nil
}
