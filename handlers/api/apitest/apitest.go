// Package apitest serves the worker API on loopback for tests. It is for tests
// only; nothing outside _test.go files may import it.
package apitest

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/handlers/api"
)

// Backend is a store with its tokens.
type Backend interface {
	api.Store
	api.Tokens
	CreateToken(ctx context.Context, name string, namespaces []string, by string) (id, secret string, err error)
}

// Serve runs the API on a backend until the test ends and returns its address.
func Serve(t testing.TB, b Backend, change ...func(*api.Config)) string {
	t.Helper()
	c := api.Config{Store: b, Tokens: b}
	for _, f := range change {
		f(&c)
	}
	a := api.New(c)
	e := echo.New()
	e.HTTPErrorHandler = func(err error, c echo.Context) { _ = a.WriteError(c, err) }
	a.Register(e.Group("/v1"))
	s := httptest.NewServer(e)
	t.Cleanup(func() {
		a.Close()
		s.Close()
	})
	return s.URL
}

// Token makes a token of a name, limited to namespaces if there are any.
func Token(t testing.TB, b Backend, name string, namespaces ...string) string {
	t.Helper()
	_, secret, err := b.CreateToken(t.Context(), name, namespaces, "test")
	if err != nil {
		t.Fatal(err)
	}
	return secret
}
