package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// SaveDraft keeps a person's text on an effect for a day, in place of an earlier
// one. It is no fact of the journal.
func (s *Store) SaveDraft(ctx context.Context, who journal.Actor, effectID string, form []byte) error {
	p := sqlc.SaveDraftParams{Issuer: who.Issuer, Subject: who.Subject, EffectID: effectID, Form: form}
	return mapError("keeping a draft", s.q.SaveDraft(ctx, s.pool, p))
}

// Draft returns what was kept, nil if nothing was.
func (s *Store) Draft(ctx context.Context, who journal.Actor, effectID string) ([]byte, error) {
	form, err := s.q.Draft(ctx, s.pool, sqlc.DraftParams{Issuer: who.Issuer, Subject: who.Subject, EffectID: effectID})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return form, mapError("reading a draft", err)
}

// DropDraft forgets what was kept.
func (s *Store) DropDraft(ctx context.Context, who journal.Actor, effectID string) error {
	p := sqlc.DropDraftParams{Issuer: who.Issuer, Subject: who.Subject, EffectID: effectID}
	return mapError("dropping a draft", s.q.DropDraft(ctx, s.pool, p))
}
