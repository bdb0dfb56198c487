package zendesk

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/faults"
	"github.com/landedhq/landed/providers/evidence/oauth"
)

// scope is all that Landed asks for.
const scope = "read"

// authorize gets an access token where the configuration names an OAuth client
// (developer.zendesk.com/api-reference/ticketing/oauth/grant_type_tokens/).
func (l *look) authorize(ctx context.Context) error {
	if l.s.token != "" {
		return nil
	}
	a := l.s.a
	t, err := a.tokens.Get(ctx, func(ctx context.Context) (oauth.Token, error) {
		g := oauth.ClientCredentials(a.base.JoinPath("oauth", "tokens"), a.cfg.ClientID, l.s.secret, scope, true)
		return g.Ask(ctx, a.client, "Zendesk", func(method string, u *url.URL, status string, start time.Time) {
			l.record(method+" "+u.RequestURI(), status+"\n\n"+oauth.NotKept, start)
		})
	})
	l.s.token = t.Access
	return err
}

// account is who the token acts for.
type account struct {
	blind string // why it does not see every ticket; "" = it does
}

// identify asks once a session who the token is, whether it could write, and
// whether its user sees every ticket: Zendesk lists only what it sees, and says
// nothing of the rest.
func (l *look) identify(ctx context.Context) (*account, error) {
	if l.s.account != nil {
		return l.s.account, nil
	}
	if err := l.checkReadOnly(ctx); err != nil {
		return nil, err
	}
	var me user
	err := l.get(ctx, "users/me", nil, &me, func() string {
		if me.User == nil {
			return "no user"
		}
		return fmt.Sprintf("user %d role=%.20q restricted_agent=%v", me.User.ID, me.User.Role, me.User.RestrictedAgent)
	})
	if err != nil {
		return nil, err
	}
	u := me.User
	switch {
	case u == nil:
		return nil, faults.Bad("Zendesk's answer is no user")
	case u.ID == 0: // Zendesk answers 200 for nobody in particular
		l.s.a.tokens.Drop(ctx, l.s.token)
		return nil, &evidence.ProviderError{Kind: evidence.FaultAuth, Detail: "Zendesk takes the token for nobody's: it is wrong, expired, revoked or of another account"}
	case u.Suspended:
		return nil, &evidence.ProviderError{Kind: evidence.FaultForbidden, Detail: "the token's user is suspended"}
	case u.Role != "admin" && u.Role != "agent":
		return nil, &evidence.ProviderError{Kind: evidence.FaultForbidden, Detail: fmt.Sprintf("the token's user is no agent but %.20q, who sees only their own tickets", u.Role)}
	}
	who := &account{}
	switch {
	case u.TicketRestriction != nil && *u.TicketRestriction != "":
		who.blind = fmt.Sprintf("the token's user sees only some tickets (%.40s): use an admin's", *u.TicketRestriction)
	case u.RestrictedAgent:
		who.blind = "the token's user is a restricted agent, who may not see every ticket: use an admin's"
	}
	l.s.account = who
	return who, nil
}

// checkReadOnly refuses a token that could write: Landed holds none. API tokens
// have no scopes and were permitted with the configuration.
func (l *look) checkReadOnly(ctx context.Context) error {
	if l.s.a.cfg.AllowUnverified || l.s.a.isReadOnly(l.s.token) {
		return nil
	}
	var info tokenInfo
	err := l.get(ctx, "oauth/tokens/current", nil, &info, func() string {
		if info.Token == nil || info.Token.Scopes == nil {
			return "no scopes"
		}
		return "scopes " + strings.Join(*info.Token.Scopes, " ")
	})
	if code := status(err); code == http.StatusForbidden || code == http.StatusNotFound {
		return &evidence.ProviderError{Kind: evidence.FaultForbidden,
			Detail: fmt.Sprintf("Zendesk does not tell what the token may do (%d): %s, or set allow_unverified", code, howToGetAToken)}
	}
	if err != nil {
		return err
	}
	if info.Token == nil || info.Token.Scopes == nil {
		return faults.Bad("Zendesk's answer does not name the token's scopes")
	}
	if !readOnlyScopes(*info.Token.Scopes) {
		return &evidence.ProviderError{Kind: evidence.FaultForbidden,
			Detail: fmt.Sprintf("the token may write (scopes %.100q): %s, or set allow_unverified", strings.Join(*info.Token.Scopes, " "), howToGetAToken)}
	}
	l.s.a.rememberReadOnly(l.s.token)
	return nil
}
