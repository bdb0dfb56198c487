package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// Sessions keeps the pages' sessions; tokens come hashed.
type Sessions struct{ s *Store }

// Sessions returns the session store of this database.
func (s *Store) Sessions() *Sessions { return &Sessions{s} }

// Save inserts a session.
func (x *Sessions) Save(ctx context.Context, tokenHash, data []byte, expires time.Time) error {
	return mapError("saving a session", x.s.q.AddSession(ctx, x.s.pool, sqlc.AddSessionParams{TokenHash: tokenHash, Data: data, ExpiresAt: expires}))
}

// Load reads a session; nil data if there is none, or it has expired.
func (x *Sessions) Load(ctx context.Context, tokenHash []byte) (data []byte, seenAt, expires time.Time, err error) {
	r, err := x.s.q.SessionByHash(ctx, x.s.pool, tokenHash)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, time.Time{}, time.Time{}, nil
	}
	return r.Data, r.SeenAt, r.ExpiresAt, mapError("loading a session", err)
}

// Touch records when the session was used.
func (x *Sessions) Touch(ctx context.Context, tokenHash []byte, seenAt time.Time) error {
	p := sqlc.TouchSessionParams{TokenHash: tokenHash, SeenAt: seenAt}
	return mapError("touching a session", x.s.q.TouchSession(ctx, x.s.pool, p))
}

// Delete ends a session.
func (x *Sessions) Delete(ctx context.Context, tokenHash []byte) error {
	return mapError("ending a session", x.s.q.DropSession(ctx, x.s.pool, tokenHash))
}

// DropExpired removes sessions that are over, and the texts kept for people who
// had to sign in again and did not come back.
func (x *Sessions) DropExpired(ctx context.Context) error {
	if err := x.s.q.DropOldDrafts(ctx, x.s.pool); err != nil {
		return mapError("removing old drafts", err)
	}
	return mapError("removing old sessions", x.s.q.DropExpiredSessions(ctx, x.s.pool))
}

// Token is a worker's bearer token as it is listed; the secret is not kept.
type Token struct {
	ID, Name, CreatedBy   string
	Namespaces            []string // empty = all
	CreatedAt             time.Time
	LastUsedAt, RevokedAt *time.Time
}

// CreateToken makes a bearer token and returns its secret, which is shown once:
// the database keeps its hash. An empty list of namespaces means all.
func (s *Store) CreateToken(ctx context.Context, name string, namespaces []string, by string) (id, secret string, err error) {
	if err := journal.ValidateName("name", name); err != nil {
		return "", "", err
	}
	id, secret = journal.NewID(time.Now()), "landed_"+journal.NewToken()+journal.NewToken()
	sum := sha256.Sum256([]byte(secret))
	err = s.q.AddToken(ctx, s.pool, sqlc.AddTokenParams{ID: id, Name: name, Hash: sum[:], Namespaces: list(namespaces), CreatedBy: by})
	return id, secret, mapError("creating a token", err)
}

// Token finds who presents a secret; ok is false for an unknown or revoked one.
func (s *Store) Token(ctx context.Context, secret string) (name string, namespaces []string, ok bool, err error) {
	sum := sha256.Sum256([]byte(secret))
	r, err := s.q.TokenByHash(ctx, s.pool, sum[:])
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil, false, nil
	}
	if err != nil {
		return "", nil, false, mapError("checking a token", err)
	}
	return r.Name, r.Namespaces, true, nil
}

// Tokens lists all tokens, revoked ones too.
func (s *Store) Tokens(ctx context.Context) ([]Token, error) {
	rows, err := s.q.ListTokens(ctx, s.pool)
	if err != nil {
		return nil, mapError("listing tokens", err)
	}
	out := make([]Token, 0, len(rows))
	for _, r := range rows {
		out = append(out, Token{ID: r.ID, Name: r.Name, Namespaces: r.Namespaces, CreatedAt: r.CreatedAt, CreatedBy: r.CreatedBy,
			LastUsedAt: r.LastUsedAt, RevokedAt: r.RevokedAt})
	}
	return out, nil
}

// RevokeToken ends a token by id or name.
func (s *Store) RevokeToken(ctx context.Context, idOrName string) error {
	n, err := s.q.RevokeToken(ctx, s.pool, idOrName)
	if err == nil && n == 0 {
		return fmt.Errorf("revoking token %q: no live token has that id or name: %w", idOrName, journal.ErrNotFound)
	}
	return mapError("revoking a token", err)
}
