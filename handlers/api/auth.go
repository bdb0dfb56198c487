package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
)

// maxSecretBytes bounds what is hashed for a look-up.
const maxSecretBytes = 512

var (
	errUnauthorized = errors.New("a bearer token of this journal is needed: send Authorization: Bearer <token>")
	errForbidden    = errors.New("the token is limited to other namespaces")
	errSharedTool   = errors.New("tools are shared by all namespaces: a token limited to some may add one, not change one")
)

// caller is who a token belongs to.
type caller struct {
	name       string
	namespaces []string // empty = all
}

const callerKey = "landed.caller"

// authenticate lets nobody past without a valid token.
func (a *API) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		secret, ok := bearer(c.Request().Header.Values("Authorization"))
		if !ok {
			return errUnauthorized
		}
		name, namespaces, ok, err := a.tokens.Token(c.Request().Context(), secret)
		if err != nil {
			return fmt.Errorf("checking the token: %w", err)
		}
		if !ok {
			return errUnauthorized
		}
		c.Set(callerKey, caller{name, namespaces})
		return next(c)
	}
}

// bearer reads the secret from the one Authorization header.
func bearer(values []string) (string, bool) {
	if len(values) != 1 {
		return "", false
	}
	scheme, secret, ok := strings.Cut(values[0], " ")
	secret = strings.TrimSpace(secret)
	return secret, ok && strings.EqualFold(scheme, "bearer") && secret != "" && len(secret) <= maxSecretBytes
}

func who(c echo.Context) caller {
	w, _ := c.Get(callerKey).(caller)
	return w
}

func (w caller) limited() bool { return len(w.namespaces) > 0 }

func (w caller) may(namespace string) bool {
	return !w.limited() || slices.Contains(w.namespaces, namespace)
}

// allow refuses a namespace that the caller itself names.
func (w caller) allow(namespace string) error {
	if !w.may(namespace) {
		return errForbidden
	}
	return nil
}

// visible refuses an effect id that is not one, or that the caller may not see.
// Both look the same as an effect that does not exist.
func (a *API) visible(ctx context.Context, w caller, id string) error {
	if !journal.ValidID(id) {
		return journal.ErrNotFound
	}
	if !w.limited() {
		return nil
	}
	s, err := a.store.Snapshot(ctx, id)
	if err != nil {
		return err
	}
	if !w.may(s.Effect.Namespace) {
		return journal.ErrNotFound
	}
	return nil
}

// unknownID stands for an effect that no journal has.
const unknownID = "00000000-0000-0000-0000-000000000000"

// reported returns the effect id that a report of the caller may speak of. A
// report is never refused over its id: one that is malformed or belongs to a
// foreign effect counts as unknown, and the key decides.
func (a *API) reported(ctx context.Context, w caller, id, namespace, key string) (string, error) {
	if err := w.allow(namespace); err != nil {
		return "", err
	}
	if !journal.ValidID(id) {
		return unknownID, nil
	}
	if !w.limited() {
		return id, nil
	}
	if journal.ValidateKey(key) == nil { // one look-up where a snapshot takes several
		if found, err := a.store.EffectByKey(ctx, namespace, key); err == nil && found == id {
			return id, nil
		}
	}
	err := a.visible(ctx, w, id)
	if errors.Is(err, journal.ErrNotFound) {
		return unknownID, nil
	}
	return id, err
}
