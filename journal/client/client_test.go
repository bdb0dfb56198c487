package client_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/landedhq/landed/handlers/api"
	"github.com/landedhq/landed/handlers/api/apitest"
	"github.com/landedhq/landed/journal/client"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/journaltest/conform"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/workertest"
)

var (
	_ worker.Journal = (*client.Client)(nil)
	_ worker.Journal = conform.Journal(nil) // the same calls
	_ api.Store      = (*postgres.Store)(nil)
)

func TestMain(m *testing.M) {
	if v := os.Getenv(pullerEnv); v != "" {
		if err := bePuller(v); err != nil {
			fmt.Fprintln(os.Stderr, "puller:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	journaltest.Main(m)
}

// overHTTP is a client of a server on the store.
func overHTTP(t *testing.T, s *postgres.Store) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{BaseURL: apitest.Serve(t, s) + "/", Token: apitest.Token(t, s, conform.WorkerName)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClient_Conforms(t *testing.T) {
	t.Parallel()
	conform.Run(t, func(t *testing.T, s *postgres.Store) conform.Journal { return overHTTP(t, s) })
}

func openStore(t *testing.T) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), journaltest.Database(t, postgres.Migrate), postgres.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestWorkerCases_Store(t *testing.T) {
	t.Parallel()
	workertest.RunCases(t, func(t *testing.T) worker.Journal { return openStore(t) })
}

func TestWorkerCases_Client(t *testing.T) {
	t.Parallel()
	workertest.RunCases(t, func(t *testing.T) worker.Journal { return overHTTP(t, openStore(t)) })
}
