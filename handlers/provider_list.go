package handlers

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/guide"
	"github.com/landedhq/landed/web"
)

// providerView is one configured provider as the page needs it.
type providerView struct {
	name  string
	sheet evidence.Sheet
	state journal.ProviderState
	use   evidence.Use
	guide *guide.Guide // nil = its adapter gives none
}

// providerList shows every configured provider.
func (s *server) providerList(c echo.Context) error {
	who, err := s.viewer(c)
	if err != nil {
		return err
	}
	list, err := s.loadProviders(c.Request().Context())
	if err != nil {
		return err
	}
	if err := s.logView(c, who, ""); err != nil {
		return err
	}
	return s.renderProviders(c, http.StatusOK, list, tryView{who: who, since: trySinceDefault}, nil)
}

// loadProviders reads what is known of every provider, by name.
func (s *server) loadProviders(ctx context.Context) ([]providerView, error) {
	var out []providerView
	for _, name := range slices.Sorted(slices.Values(s.cfg.Providers.Providers())) {
		sheet, ok := s.cfg.Providers.Sheet(name)
		if !ok {
			continue
		}
		state, err := s.cfg.Journal.ProviderState(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("loading the state of provider %s: %w", name, err)
		}
		use, _ := s.cfg.Providers.Use(name)
		one := providerView{name: name, sheet: sheet, state: state, use: use}
		if g, ok := s.cfg.Guides[name]; ok {
			one.guide = &g
		}
		out = append(out, one)
	}
	return out, nil
}

// renderProviders answers with the page.
func (s *server) renderProviders(c echo.Context, status int, list []providerView, v tryView, n *web.Notice) error {
	sh := s.shell(c, "Providers", nil)
	sh.Note = n
	v.hosts = s.cfg.EvidenceHosts
	return render(c, status, web.ProviderList(newProviderListPage(sh, list, v)))
}
