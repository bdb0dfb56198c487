package declared

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/oauth"
)

// Adapter asks one account at one provider, as its definition says.
type Adapter struct {
	def      *Definition
	cfg      Config
	params   vars
	base     *url.URL
	tokenURL *url.URL
	hosts    []string
	client   *http.Client
	sheet    evidence.Sheet
	tokens   *oauth.Cache
}

var _ evidence.Adapter = (*Adapter)(nil)

// Sheet returns the capability sheet.
func (a *Adapter) Sheet() evidence.Sheet {
	s := a.sheet
	s.Scopes = slices.Clone(s.Scopes)
	return s
}

// makeSheet adds to what is declared what is configured.
func (a *Adapter) makeSheet() (evidence.Sheet, error) {
	s := a.def.sheet()
	s.IndexLag, s.ProcessingHorizon = max(s.IndexLag, a.cfg.IndexLag), max(s.ProcessingHorizon, a.cfg.ProcessingHorizon)
	if a.cfg.Retention > 0 {
		s.Retention = a.cfg.Retention
	}
	if s.Mode = "live"; a.cfg.TestMode {
		s.Mode = "test"
	}
	for _, st := range a.def.steps {
		for _, sc := range st.scopes {
			name, err := sc.name.render(context.Background(), a.params)
			if err != nil {
				return s, err
			}
			if !slices.Contains(s.Scopes, name) {
				s.Scopes = append(s.Scopes, name)
			}
		}
	}
	return s, nil
}

// title is how messages call the provider.
func (a *Adapter) title() string { return a.def.Title() }

// Session returns a session. It reads the secrets and does no other I/O.
func (a *Adapter) Session(ctx context.Context) (evidence.Session, error) {
	s := &session{a: a, secrets: a.params.with(nil)}
	var hide []string
	for name, read := range a.cfg.Secrets {
		v, err := read()
		if err != nil {
			return nil, fmt.Errorf("%s: reading the secret %s: %w", a.def.Name(), name, err)
		}
		if v == "" || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' }) {
			return nil, fmt.Errorf("%s: the secret %s is empty or holds characters that no credential has", a.def.Name(), name)
		}
		s.secrets["secrets."+name] = v
		hide = append(hide, v)
	}
	var err error
	if s.creds, err = a.def.auth.open(ctx, s.secrets, hide); err != nil {
		return nil, fmt.Errorf("%s: %w", a.def.Name(), err)
	}
	return s, nil
}

// session holds the secrets of one look.
type session struct {
	a       *Adapter
	secrets vars // params and secrets: for auth only
	creds   *credentials
}

var _ evidence.Session = (*session)(nil)

// Close forgets the secrets.
func (s *session) Close() error {
	s.secrets, s.creds = nil, nil
	return nil
}

// clean takes secrets that a provider echoes out of a text that is kept.
func (s *session) clean(text string) string {
	if s.creds == nil {
		return text
	}
	for _, secret := range s.creds.hide {
		if secret == "" {
			continue
		}
		text = strings.ReplaceAll(text, secret, "[secret]")
		if esc := url.QueryEscape(secret); esc != secret {
			text = strings.ReplaceAll(text, esc, "[secret]")
		}
	}
	return text
}
