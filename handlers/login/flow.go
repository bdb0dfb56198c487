package login

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/labstack/echo/v4"
	"golang.org/x/oauth2"
)

// Limits of one sign-in.
const (
	flowLife  = 10 * time.Minute
	flowSlots = 4 // tabs that may sign in at the same time
	hopsLife  = 2 * time.Minute
	maxHops   = 2 // a third sign-in that leads to no session is a loop
	seedSize  = 32
)

// flow is one sign-in on its way. Its secrets follow from one random seed; the
// browser carries it sealed in a cookie, so that a visitor without a session
// writes nothing into the database, and any replica can finish it.
type flow struct {
	seed    []byte
	expires time.Time
	to      string // where to return, already made safe
	// asked is when a fresh proof of identity was asked for; zero = it was not.
	asked time.Time
}

func newFlow(to string, now time.Time) flow {
	seed := make([]byte, seedSize)
	rand.Read(seed) // never fails: crypto/rand ends the process instead
	return flow{seed: seed, expires: now.Add(flowLife), to: to}
}

// derive returns 256 bits that can't be guessed without the seed, nor from each
// other.
func (f flow) derive(label string) string {
	m := hmac.New(sha256.New, f.seed)
	m.Write([]byte(label))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// slot tells tabs apart that sign in at once: each has its own cookie.
func (f flow) slot() string     { return strconv.Itoa(int(f.seed[0]) % flowSlots) }
func (f flow) state() string    { return f.slot() + f.derive("state") }
func (f flow) nonce() string    { return f.derive("nonce") }
func (f flow) verifier() string { return f.derive("pkce") }

func (l *Login) sealFlow(f flow) string {
	plain := binary.BigEndian.AppendUint64(nil, uint64(f.expires.Unix()))
	asked := int64(0)
	if !f.asked.IsZero() {
		asked = f.asked.Unix()
	}
	plain = binary.BigEndian.AppendUint64(plain, uint64(asked))
	plain = append(append(plain, f.seed...), f.to...)
	return base64.RawURLEncoding.EncodeToString(l.seal.Seal(nil, nil, plain, []byte(cookieFlow+f.slot())))
}

func (l *Login) openFlow(slot, sealed string) (flow, error) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return flow{}, fmt.Errorf("flow cookie: %w", err)
	}
	plain, err := l.seal.Open(nil, nil, raw, []byte(cookieFlow+slot))
	if err != nil {
		return flow{}, fmt.Errorf("flow cookie: %w", err)
	}
	if len(plain) < 16+seedSize {
		return flow{}, errors.New("flow cookie is too short")
	}
	f := flow{
		expires: time.Unix(int64(binary.BigEndian.Uint64(plain)), 0),
		seed:    plain[16 : 16+seedSize], to: string(plain[16+seedSize:]),
	}
	if asked := int64(binary.BigEndian.Uint64(plain[8:])); asked > 0 {
		f.asked = time.Unix(asked, 0)
	}
	return f, nil
}

// start sends the browser to the identity provider. Who is signed in already
// goes straight to the page, unless a fresh proof of identity is asked for
// (ParamFresh): then the session stays until another takes its place.
func (l *Login) start(c echo.Context) error {
	noStore(c)
	ctx := c.Request().Context()
	to := returnPath(c.QueryParam("to"))
	s, err := l.load(c)
	if err != nil {
		return err
	}
	fresh := c.QueryParam(ParamFresh) != ""
	if s != nil && !fresh {
		l.clearCookie(c, cookieHops)
		return c.Redirect(http.StatusSeeOther, to)
	}
	if l.hops(c) >= maxHops {
		l.clearCookie(c, cookieHops)
		return l.refuse(c, noActor(), errLoop())
	}
	p, err := l.provider(ctx)
	if err != nil {
		return l.refuse(c, noActor(), errProviderDown(err))
	}
	f := newFlow(to, l.cfg.Clock())
	ask := []oauth2.AuthCodeOption{oidc.Nonce(f.nonce()), oauth2.S256ChallengeOption(f.verifier())}
	if fresh {
		f.asked = l.cfg.Clock()
		ask = append(ask, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
		if l.cfg.StepUpACR != "" {
			ask = append(ask, oauth2.SetAuthURLParam("acr_values", l.cfg.StepUpACR))
		}
	}
	l.setCookie(c, cookieFlow+f.slot(), l.sealFlow(f), flowLife)
	return c.Redirect(http.StatusSeeOther, p.oauth.AuthCodeURL(f.state(), ask...))
}

// hops counts sign-ins that ended well and yet led to no session: the browser
// does not send the session cookie back.
func (l *Login) hops(c echo.Context) int {
	n, err := strconv.Atoi(l.cookie(c, cookieHops))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// loginURL is where a visitor without a session is sent.
func loginURL(to string) string {
	if to == "/" {
		return PathLogin
	}
	return PathLogin + "?to=" + url.QueryEscape(to)
}
