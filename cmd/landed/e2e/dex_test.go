package e2e_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/server/connectors"
	"github.com/dexidp/dex/server/signer"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
	dexweb "github.com/dexidp/dex/web"
	"golang.org/x/crypto/bcrypt"
)

// idp is a real Dex in this process, with its own login page and a password
// database whose entries carry groups.
type idp struct {
	Issuer, ClientID, ClientSecret string
	password                       string // of everybody
}

// person is somebody who can sign in at Dex.
type person struct{ Email, Name, Group string }

func operator() person {
	return person{"olga@example.org", "Olga Operator", "landed-operators"}
}
func auditor() person { return person{"arne@example.org", "Arne Auditor", "landed-auditors"} }
func viewer() person  { return person{"vera@example.org", "Vera Viewer", "landed-viewers"} }
func outsider() person {
	return person{"otto@example.org", "Otto Outsider", "another-team"}
}

// startDex starts Dex for one client that may come back to callback.
func startDex(t *testing.T, callback string) *idp {
	t.Helper()
	// Dex wants to know its own address before it exists.
	var handler atomic.Pointer[server.Server]
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.Load().ServeHTTP(w, r) }))
	t.Cleanup(srv.Close)
	p := &idp{Issuer: srv.URL + "/dex", ClientID: "landed", ClientSecret: rand.Text(), password: rand.Text()}

	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	log := slog.New(slog.DiscardHandler)
	store := memory.New(log)
	p.fill(t, store, callback)
	keys, err := (&signer.LocalConfig{KeysRotationPeriod: "6h"}).Open(ctx, store, time.Hour, time.Now, log)
	if err != nil {
		t.Fatalf("opening Dex's keys: %v", err)
	}
	dex, err := server.NewServer(ctx, server.Config{
		Issuer: p.Issuer, Storage: store, SkipApprovalScreen: true, Signer: keys, Logger: log,
		Web: server.WebConfig{WebFS: dexweb.FS()}, IDTokensValidFor: time.Hour,
	})
	if err != nil {
		t.Fatalf("starting Dex: %v", err)
	}
	handler.Store(dex)
	return p
}

func (p *idp) fill(t *testing.T, store storage.Storage, callback string) {
	t.Helper()
	ctx := t.Context()
	if err := store.CreateClient(ctx, storage.Client{ID: p.ClientID, Secret: p.ClientSecret, Name: "Landed", RedirectURIs: []string{callback}}); err != nil {
		t.Fatalf("adding the client to Dex: %v", err)
	}
	if err := store.CreateConnector(ctx, storage.Connector{ID: connectors.LocalConnector, Type: connectors.LocalConnector, Name: "Email", ResourceVersion: "1"}); err != nil {
		t.Fatalf("adding the password database to Dex: %v", err)
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(p.password), bcrypt.DefaultCost) // Dex refuses less
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []person{operator(), auditor(), viewer(), outsider()} {
		err := store.CreatePassword(ctx, storage.Password{Email: who.Email, Hash: hash, Username: who.Name, Name: who.Name, UserID: rand.Text(), Groups: []string{who.Group}})
		if err != nil {
			t.Fatalf("adding %s to Dex: %v", who.Name, err)
		}
	}
}
