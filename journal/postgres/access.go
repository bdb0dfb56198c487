package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/audit"
)

// RecordAccess writes an audit row about a person's access: a login, a logout,
// or a sign-in of a known person that was refused, with why.
func (s *Store) RecordAccess(ctx context.Context, kind string, who journal.Actor, at time.Time, why string) error {
	e := audit.Entry{At: at, Kind: "access:" + clean(kind, 50), Actor: "person:" + clean(who.Subject, 200), Issuer: who.Issuer,
		Name: clean(who.Name, 200), Source: "page", Result: audit.Done}
	if why != "" {
		e.Result, e.Detail = audit.Refused, map[string]string{"why": clean(why, 500)}
	}
	return mapError("recording access", pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := s.audit(ctx, tx, e); err != nil {
			return err
		}
		return s.seePerson(ctx, tx, who, e)
	}))
}
