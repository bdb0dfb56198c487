package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/audit"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// maxEvidence bounds what a page reads of an effect's looks.
const maxEvidence = 50

// Case reads everything that a person can be shown of one effect.
func (s *Store) Case(ctx context.Context, id string) (journal.Case, error) {
	l, err := s.byID(id)(ctx, s.pool)
	if err != nil {
		return journal.Case{}, err
	}
	c := journal.Case{Snapshot: l.Snapshot}
	if err := s.readTwins(ctx, s.pool, &c.Snapshot); err != nil {
		return c, err
	}
	if err := s.caseHistory(ctx, &c); err != nil {
		return c, err
	}
	if err := s.caseCompensation(ctx, &c); err != nil {
		return c, err
	}
	next, err := s.q.SuccessorOf(ctx, s.pool, id)
	if err == nil {
		c.SupersededBy = next
	} else if !errors.Is(err, pgx.ErrNoRows) {
		return c, mapError("loading the successor of effect "+id, err)
	}
	if c.Siblings, err = s.Siblings(ctx, c.Effect.Namespace, c.Effect.RootRun, id); err != nil {
		return c, err
	}
	if err := s.caseTeam(ctx, &c); err != nil {
		return c, err
	}
	if t, err := s.tool(ctx, c.Effect.Tool); err == nil {
		c.Tool = t.Tool
	}
	return c, nil
}

// Siblings reads the other effects of a root run, oldest first, at most 50.
func (s *Store) Siblings(ctx context.Context, namespace, rootRun, id string) ([]journal.Sibling, error) {
	rows, err := s.q.RootRunSiblings(ctx, s.pool, sqlc.RootRunSiblingsParams{RootRun: rootRun, Namespace: namespace, ID: id})
	if err != nil {
		return nil, mapError("loading the siblings of effect "+id, err)
	}
	var out []journal.Sibling
	for _, r := range rows {
		out = append(out, journal.Sibling{ID: r.ID, Tool: r.Tool, Operation: r.Operation, Subject: r.Subject,
			Amount: r.Amount, Currency: r.Currency, Class: journal.Class(r.Class), State: journal.State(r.State), CreatedAt: r.CreatedAt})
	}
	return out, nil
}

func (s *Store) caseHistory(ctx context.Context, c *journal.Case) error {
	id := c.Effect.ID
	bodies, err := s.q.EvidenceBodies(ctx, s.pool, sqlc.EvidenceBodiesParams{EffectID: id, MaxRows: maxEvidence})
	if err != nil {
		return mapError("loading the evidence of effect "+id, err)
	}
	for _, b := range bodies {
		var e journal.Evidence
		if err := json.Unmarshal(b.Body, &e); err != nil {
			return fmt.Errorf("reading evidence %d of effect %s: %w", b.Seq, id, err)
		}
		e.Seq = b.Seq
		c.Evidence = append(c.Evidence, e)
	}
	events, err := s.q.Events(ctx, s.pool, id)
	if err != nil {
		return mapError("loading the timeline of effect "+id, err)
	}
	for _, e := range events {
		c.Events = append(c.Events, journal.Event{Seq: e.Seq, At: e.At, Kind: e.Kind, Attempt: int(e.Attempt), Actor: e.Actor, Detail: e.Detail})
	}
	decisions, err := s.q.DecisionsOf(ctx, s.pool, id)
	if err != nil {
		return mapError("loading the decisions on effect "+id, err)
	}
	for _, d := range decisions {
		c.Decisions = append(c.Decisions, toDecision(d))
	}
	deliveries, err := s.q.DeliveriesOf(ctx, s.pool, id)
	if err != nil {
		return mapError("loading the resolutions of effect "+id, err)
	}
	c.Handovers = make(map[string]journal.Handover, len(deliveries))
	for _, d := range deliveries {
		c.Resolutions = append(c.Resolutions, resolutionRow(d).resolution())
		c.Handovers[d.Delivery.ID] = handoverOf(d.Delivery)
	}
	return s.caseHandovers(ctx, c)
}

// EffectByKey returns the id of the effect that has the key.
func (s *Store) EffectByKey(ctx context.Context, namespace, key string) (string, error) {
	r, err := s.q.EffectByKey(ctx, s.pool, sqlc.EffectByKeyParams{Namespace: namespace, Key: key})
	if err != nil {
		return "", mapError("loading the effect of a key", err)
	}
	return r.Effect.ID, nil
}

// Tools lists the registered tools by name.
func (s *Store) Tools(ctx context.Context) ([]journal.Tool, error) {
	rows, err := s.q.ListTools(ctx, s.pool)
	if err != nil {
		return nil, mapError("listing tools", err)
	}
	out := make([]journal.Tool, 0, len(rows))
	for _, r := range rows {
		out = append(out, toTool(r).Tool)
	}
	return out, nil
}

// AuditRows reads the audit trail, newest first, before a row number (0 = from
// the newest).
func (s *Store) AuditRows(ctx context.Context, before int64, limit int) ([]journal.AuditRecord, error) {
	rows, err := s.q.AuditRows(ctx, s.pool, sqlc.AuditRowsParams{Before: before, MaxRows: int32(limit)})
	if err != nil {
		return nil, mapError("reading the audit trail", err)
	}
	out := make([]journal.AuditRecord, 0, len(rows))
	for _, r := range rows {
		e, err := sealed(r).Parse()
		if err != nil {
			return nil, err
		}
		out = append(out, journal.AuditRecord{Seq: r.Seq, At: r.At, Kind: r.Kind, EffectID: strOf(r.EffectID), Actor: r.Actor, Name: e.Name,
			Source: e.Source, Was: e.Was, State: e.State, Tool: e.Tool, Code: e.Code, Reason: e.Reason, Result: e.Result,
			Evidence: e.Evidence, Hash: r.Hash, Body: r.Body})
	}
	return out, nil
}

// VerifyAudit reads the whole trail in order and checks every row.
func (s *Store) VerifyAudit(ctx context.Context) (rows int64, err error) {
	var prev []byte
	for {
		page, err := s.q.AuditAfter(ctx, s.pool, sqlc.AuditAfterParams{After: rows, MaxRows: 1000})
		if err != nil {
			return rows, mapError("reading the audit trail", err)
		}
		if len(page) == 0 {
			return rows, nil
		}
		sealedRows := make([]audit.Row, len(page))
		for i, r := range page {
			sealedRows[i] = sealed(r)
		}
		if prev, err = audit.Verify(rows, prev, sealedRows); err != nil {
			return rows, err
		}
		rows = page[len(page)-1].Seq
	}
}

func sealed(r sqlc.Audit) audit.Row {
	return audit.Row{Seq: r.Seq, At: r.At, Kind: r.Kind, EffectID: strOf(r.EffectID), Actor: r.Actor, Salt: r.Salt, Body: r.Body, Hash: r.Hash}
}

// LogView records who looked at what: the one thing that a GET writes.
func (s *Store) LogView(ctx context.Context, a journal.Actor, path, effectID string) error {
	p := sqlc.AddViewParams{Issuer: a.Issuer, Subject: a.Subject, Path: clean(path, 500)}
	if journal.ValidID(effectID) {
		p.EffectID = &effectID
	}
	return mapError("writing the view log", s.q.AddView(ctx, s.pool, p))
}
