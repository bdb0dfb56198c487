package declared

import (
	"context"
	"slices"

	"github.com/landedhq/landed/providers/definition"
	"github.com/landedhq/landed/providers/evidence"
)

// Adapter asks one account at one provider, as its definition says.
type Adapter struct {
	def     *Definition
	cfg     Config
	params  definition.Vars
	account *definition.Account
	sheet   evidence.Sheet
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
			name, err := sc.name.Render(context.Background(), a.params)
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
	open, err := a.account.Session(ctx, a.def.Name(), a.cfg.Secrets)
	if err != nil {
		return nil, err
	}
	return &session{a: a, open: open}, nil
}

// session holds the secrets of one look.
type session struct {
	a    *Adapter
	open *definition.Session
}

var _ evidence.Session = (*session)(nil)

// Close forgets the secrets.
func (s *session) Close() error {
	s.open.Close()
	return nil
}
