package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/audit"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

const (
	// maxComments bounds what a page reads of an effect's comments, the newest.
	maxComments = 500
	// maxPeople bounds to whom a claim can be handed over.
	maxPeople = 200
)

// Comment records a person's words, with an audit row. The same words under the
// same id are written once, however often they are sent; other words under it get
// an id of their own.
func (s *Store) Comment(ctx context.Context, c journal.Comment) (journal.Comment, error) {
	if err := c.Validate(); err != nil {
		return c, err
	}
	if journal.ValidID(c.ID) {
		switch was, err := s.comment(ctx, c.ID); {
		case err == nil && was.EffectID == c.EffectID && was.Actor.Same(c.Actor) && was.Text == c.Text:
			return was, nil
		case err == nil:
			c.ID = ""
		case !errors.Is(err, journal.ErrNotFound):
			return c, err
		}
	}
	if !journal.ValidID(c.ID) {
		c.ID = journal.NewID(time.Now())
	}
	written, err := s.addComment(ctx, &c)
	if err == nil && !written { // the same one was sent at the same time
		return s.comment(ctx, c.ID)
	}
	return c, err
}

func (s *Store) addComment(ctx context.Context, c *journal.Comment) (written bool, err error) {
	var stop error
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		l, err := s.byID(c.EffectID)(ctx, tx)
		if err != nil {
			stop = err
			return err
		}
		c.At = l.Now
		seq, err := s.act(ctx, tx, l, acted{audit: "commented", actor: c.Actor, reason: c.Text, detail: map[string]string{"comment": c.ID}})
		if err != nil {
			return err
		}
		n, err := s.q.AddComment(ctx, tx, sqlc.AddCommentParams{ID: c.ID, AuditSeq: seq, EffectID: c.EffectID, Issuer: c.Actor.Issuer,
			Subject: c.Actor.Subject, Name: clean(c.Actor.Name, 200), Body: c.Text, At: c.At})
		if written = n > 0; err == nil && !written {
			stop = errConflict // without the audit row that nothing followed
			return stop
		}
		return err
	})
	switch {
	case errors.Is(stop, errConflict):
		return false, nil
	case stop != nil:
		return false, stop
	}
	return written, mapError("commenting on effect "+c.EffectID, err)
}

func (s *Store) comment(ctx context.Context, id string) (journal.Comment, error) {
	r, err := s.q.CommentByID(ctx, s.pool, id)
	return toComment(r), mapError("loading a comment", err)
}

func toComment(r sqlc.Comment) journal.Comment {
	return journal.Comment{ID: r.ID, EffectID: r.EffectID, Actor: journal.Actor{Issuer: r.Issuer, Subject: r.Subject, Name: r.Name}, Text: r.Body, At: r.At}
}

// caseTeam reads how people work together on the effect.
func (s *Store) caseTeam(ctx context.Context, c *journal.Case) error {
	id := c.Effect.ID
	var err error
	if c.Team.Claim, err = s.claimOf(ctx, s.pool, id); err != nil {
		return mapError("loading the claim of effect "+id, err)
	}
	rows, err := s.q.CommentsOf(ctx, s.pool, sqlc.CommentsOfParams{EffectID: id, MaxRows: maxComments})
	if err != nil {
		return mapError("loading the comments on effect "+id, err)
	}
	for _, r := range rows {
		c.Team.Comments = append(c.Team.Comments, toComment(sqlc.Comment(r)))
	}
	z, err := s.q.SnoozeOf(ctx, s.pool, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return mapError("loading the snooze of effect "+id, err)
	}
	c.Team.Snooze = &journal.Snooze{Until: z.Until, At: z.At, Reason: z.Reason, Actor: journal.Actor{Issuer: z.Issuer, Subject: z.Subject, Name: z.Name}}
	return nil
}

// Beat keeps an open window known for a minute, or forgets it. It is not
// audited.
func (s *Store) Beat(ctx context.Context, b journal.Beat) error {
	if err := b.Validate(); err != nil {
		return err
	}
	if !journal.ValidID(b.EffectID) {
		return journal.ErrNotFound
	}
	if b.Gone {
		p := sqlc.DropPresenceParams{EffectID: b.EffectID, Issuer: b.Actor.Issuer, Subject: b.Actor.Subject, WindowID: b.Window}
		return mapError("forgetting a window", s.q.DropPresence(ctx, s.pool, p))
	}
	p := sqlc.PutPresenceParams{EffectID: b.EffectID, Issuer: b.Actor.Issuer, Subject: b.Actor.Subject, WindowID: b.Window,
		Name: clean(b.Actor.Name, 200), Typing: b.Typing}
	return mapError("noting a window", s.q.PutPresence(ctx, s.pool, p))
}

// Present lists the windows that are open on an effect.
func (s *Store) Present(ctx context.Context, effectID string) ([]journal.Presence, error) {
	rows, err := s.q.PresenceOf(ctx, s.pool, sqlc.PresenceOfParams{EffectID: effectID, LifeMs: ms(journal.PresenceLife)})
	if err != nil {
		return nil, mapError("listing open windows", err)
	}
	out := make([]journal.Presence, 0, len(rows))
	for _, r := range rows {
		out = append(out, journal.Presence{Window: r.WindowID, Typing: r.Typing, SeenAt: r.SeenAt,
			Actor: journal.Actor{Issuer: r.Issuer, Subject: r.Subject, Name: r.Name}})
	}
	return out, nil
}

// People lists who signed in before, as of their last login, newest first.
func (s *Store) People(ctx context.Context) ([]journal.Person, error) {
	rows, err := s.q.People(ctx, s.pool, maxPeople)
	if err != nil {
		return nil, mapError("listing people", err)
	}
	out := make([]journal.Person, 0, len(rows))
	for _, r := range rows {
		out = append(out, toPerson(r))
	}
	return out, nil
}

func toPerson(r sqlc.Person) journal.Person {
	p := journal.Person{Actor: journal.Actor{Issuer: r.Issuer, Subject: r.Subject, Name: r.Name}, SeenAt: r.SeenAt}
	for _, role := range r.Roles {
		p.Roles = append(p.Roles, journal.Role(role))
	}
	return p
}

// seePerson notes who signed in, for those who hand something over.
func (s *Store) seePerson(ctx context.Context, tx pgx.Tx, who journal.Actor, e audit.Entry) error {
	if e.Kind != "access:login" || e.Result != audit.Done {
		return nil
	}
	p := sqlc.SeePersonParams{Issuer: clean(who.Issuer, 1000), Subject: clean(who.Subject, 1000), Name: clean(who.Name, 200), Roles: []string{}, SeenAt: e.At}
	for _, r := range who.Roles {
		p.Roles = append(p.Roles, string(r))
	}
	return s.q.SeePerson(ctx, tx, p)
}
