package e2e_test

import (
	"crypto/rand"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	sandboxidp "github.com/landedhq/landed/cmd/landed/demo/idp"
)

// sandbox is the sandbox identity provider, whose people are picked, not typed.
type sandbox struct {
	// Old makes every proof of identity an hour old, as the provider's own session
	// does that went on since the morning.
	Old atomic.Bool
	// Mute leaves auth_time out, as some providers do.
	Mute atomic.Bool
}

// onCall is the group that may act alone.
const onCall = "landed-on-call"

// start is a setup's Provider.
func (p *sandbox) start(t *testing.T, callback string) *idp {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	out := &idp{Issuer: "http://" + srv.Listener.Addr().String() + "/idp", ClientID: "landed", ClientSecret: rand.Text()}
	people := sandboxidp.DefaultPeople()
	for i := range people {
		if people[i].Subject == dario {
			people[i].Groups = append(people[i].Groups, onCall)
		}
	}
	h, err := sandboxidp.New(sandboxidp.Config{Issuer: out.Issuer, ClientID: out.ClientID, ClientSecret: out.ClientSecret, RedirectURI: callback,
		People: people, Hooks: sandboxidp.Hooks{Claims: p.claims}})
	if err != nil {
		t.Fatalf("starting the sandbox identity provider: %v", err)
	}
	srv.Config.Handler = h
	srv.Start()
	t.Cleanup(srv.Close)
	return out
}

func (p *sandbox) claims(_ sandboxidp.Person, claims map[string]any) {
	if p.Old.Load() {
		claims["auth_time"] = time.Now().Add(-time.Hour).Unix()
	}
	if p.Mute.Load() {
		delete(claims, "auth_time")
	}
}

// The people of the sandbox.
const (
	olivia = "p-olivia" // operator
	dario  = "p-dario"  // operator, on call
	amara  = "p-amara"  // approver
	mei    = "p-mei"    // viewer
)

// pick signs in at the sandbox' page, which the tab is at or gets to.
func (b *tab) pick(origin, who string) {
	b.t.Helper()
	b.sees("h1", "Who are you today?")
	b.click(`button[value="` + who + `"]`)
	b.until(patience, "back at Landed", `location.href.startsWith("`+origin+`/") && document.readyState === "complete"`)
}
