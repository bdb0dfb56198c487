package login

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
)

// tokenSize: 256 random bits.
const tokenSize = 32

// session is one signed-in browser.
type session struct {
	token string // only in the cookie and in memory
	hash  []byte // what the store knows
	rec   record
}

// record is the stored form. It holds no token of the identity provider.
type record struct {
	Kind     string         `json:"kind"` // "session": a marker of a used sign-in is none
	Issuer   string         `json:"iss"`
	Subject  string         `json:"sub"`
	Name     string         `json:"name"`
	Roles    []journal.Role `json:"roles"`
	Groups   []string       `json:"groups,omitempty"`
	AuthTime int64          `json:"auth_time,omitempty"` // unix seconds; 0 = the provider did not say
	Created  int64          `json:"created"`             // unix seconds
}

const kindSession = "session"

func (s *session) actor() journal.Actor {
	return journal.Actor{Issuer: s.rec.Issuer, Subject: s.rec.Subject, Name: s.rec.Name, Roles: s.rec.Roles, Groups: s.rec.Groups,
		AuthAt: numericDate(s.rec.AuthTime).time()}
}

func noActor() journal.Actor { return journal.Actor{} }

func hashToken(token string) []byte {
	h := sha256.Sum256([]byte(token))
	return h[:]
}

// newSession stores a session under a fresh token.
func (l *Login) newSession(ctx context.Context, who journal.Actor, authTime time.Time) (string, error) {
	b := make([]byte, tokenSize)
	rand.Read(b) // never fails: crypto/rand ends the process instead
	token := base64.RawURLEncoding.EncodeToString(b)
	now := l.cfg.Clock()
	rec := record{Kind: kindSession, Issuer: who.Issuer, Subject: who.Subject, Name: who.Name, Roles: who.Roles, Groups: who.Groups, Created: now.Unix()}
	if !authTime.IsZero() {
		rec.AuthTime = authTime.Unix()
	}
	data, err := json.Marshal(rec)
	if err != nil {
		return "", fmt.Errorf("encoding a session: %w", err)
	}
	if err := l.store.Save(ctx, hashToken(token), data, now.Add(l.cfg.Absolute)); err != nil {
		return "", fmt.Errorf("saving a session: %w", err)
	}
	return token, nil
}

// load is loadSession for callers that return plain errors.
func (l *Login) load(c echo.Context) (*session, error) {
	s, bad := l.loadSession(c)
	if bad != nil {
		l.log.ErrorContext(c.Request().Context(), "sessions can't be read", "cause", bad.Err)
		return nil, bad
	}
	return s, nil
}

// loadSession returns the session of the request's cookie, nil if there is none
// that still holds.
func (l *Login) loadSession(c echo.Context) (*session, *Error) {
	token := l.cookie(c, cookieSession)
	if b, err := base64.RawURLEncoding.DecodeString(token); err != nil || len(b) != tokenSize {
		return nil, nil
	}
	ctx := c.Request().Context()
	s := &session{token: token, hash: hashToken(token)}
	data, seen, expires, err := l.store.Load(ctx, s.hash)
	if err != nil {
		return nil, errStore(err)
	}
	if data == nil || json.Unmarshal(data, &s.rec) != nil || s.rec.Kind != kindSession {
		return nil, nil
	}
	now := l.cfg.Clock()
	if l.over(s.rec, seen, expires, now) {
		if err := l.store.Delete(ctx, s.hash); err != nil {
			return nil, errStore(err)
		}
		return nil, nil
	}
	if now.Sub(seen) >= l.touchEvery() && !background(c) {
		if err := l.store.Touch(ctx, s.hash, now); err != nil && !errors.Is(err, context.Canceled) {
			return nil, errStore(err)
		}
	}
	return s, nil
}

// over: idle for too long, or old. The configured limits hold at once for
// sessions that were made under longer ones.
func (l *Login) over(r record, seen, expires, now time.Time) bool {
	return now.Sub(seen) >= l.cfg.Idle || !now.Before(expires) || now.Sub(time.Unix(r.Created, 0)) >= l.cfg.Absolute
}

// touchEvery keeps reading pages from writing a row each time.
func (l *Login) touchEvery() time.Duration { return min(time.Minute, l.cfg.Idle/10) }

// HeaderBackground marks a request that a page makes by itself. It does not
// count as use of the session, nor does an event stream: a desk left open for
// the night signs out.
const HeaderBackground = "Landed-Background"

func background(c echo.Context) bool {
	h := c.Request().Header
	return h.Get(HeaderBackground) != "" || h.Get("Accept") == "text/event-stream"
}
