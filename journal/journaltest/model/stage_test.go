package model

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/handlers/api/apitest"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
)

// toolSpec is what the model knows of a tool.
type toolSpec struct {
	class   string
	canLook bool
}

func tools() map[string]toolSpec {
	return map[string]toolSpec{
		"mail.send":     {atMostOnce, true},
		"ticket.create": {deduped, true},
		"note.create":   {deduped, false},
		"pay":           {idempotent, true},
	}
}

// toolNames is in the order that stories choose from.
func toolNames() []string { return []string{"mail.send", "ticket.create", "pay", "note.create"} }

// recorder is what a worker calls: the store, or a client of it.
type recorder interface {
	Begin(ctx context.Context, r journal.BeginRequest) (journal.BeginAnswer, error)
	Commit(ctx context.Context, r journal.CommitRequest) (journal.CommitAnswer, error)
	Fail(ctx context.Context, r journal.FailRequest) (journal.FailAnswer, error)
	Heartbeat(ctx context.Context, r journal.Report) (journal.HeartbeatAnswer, error)
	Ack(ctx context.Context, resolutionID string) error
}

const workers = 4

// stage is one database on which stories are played, one after the other, with
// workers on the store and workers over HTTP.
type stage struct {
	store   *postgres.Store
	admin   *pgx.Conn // without triggers: it moves time and wipes
	client  *client.Client
	workers [workers]recorder
	chain   chain
	played  int // acts so far
}

func openStage(t *testing.T) *stage {
	t.Helper()
	dsn := journaltest.Database(t, postgres.Migrate)
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	p := journal.Policy{Version: "model/1", EvidenceMaxAge: seconds(evidenceAge), OrderEvidenceAge: seconds(orderAge), PickupWithin: seconds(pickup),
		WindowMargin: seconds(windowMargin), RetryBudget: retryBudget, VerifyLimit: verifyLimit, MinLease: time.Second, DefaultLease: seconds(lease),
		MaxLease: time.Hour, RetryGrace: seconds(retryGrace), AlertInterval: time.Minute, BackoffBase: time.Second, BackoffCap: time.Second}
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns, cfg.ConnConfig.Tracer = 6, tracer{}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s := postgres.New(pool, postgres.Options{Policy: p, CanLook: func(p string) bool { return p == "asked" }})
	for name, spec := range tools() {
		tool := journal.Tool{Name: name, Class: journal.Class(spec.class), Provider: "unasked", ClientTimeout: seconds(clientTimeout), IdentityFields: []string{"order"}}
		if spec.canLook {
			tool.Provider = "asked"
		}
		if spec.class == idempotent {
			tool.KeyWindow = seconds(keyWindow)
		}
		if err := s.RegisterTool(t.Context(), tool); err != nil {
			t.Fatal(err)
		}
	}
	st := &stage{store: s}
	url := apitest.Serve(t, s)
	for i := range st.workers {
		st.workers[i] = s
		if overHTTP(i) {
			c, err := client.New(client.Config{BaseURL: url, Token: apitest.Token(t, s, workerName(i))})
			if err != nil {
				t.Fatal(err)
			}
			st.workers[i], st.client = c, c
		}
	}
	if st.admin, err = pgx.Connect(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.admin.Close(context.Background()) })
	return st
}

func overHTTP(worker int) bool { return worker%2 == 1 }

func workerName(i int) string { return string(rune('a'+i)) + "-worker" }

// wipe ends a story: nothing of it is left but its audit rows.
func (s *stage) wipe(ctx context.Context) error {
	var b pgx.Batch
	for _, sql := range wipeSQL() {
		b.Queue(sql)
	}
	return s.admin.SendBatch(ctx, &b).Close()
}

// pass lets time go by.
func (s *stage) pass(ctx context.Context, d time.Duration) error {
	var b pgx.Batch
	b.Queue("set session_replication_role = replica")
	for _, sql := range passSQL() {
		b.Queue(sql, d)
	}
	return s.admin.SendBatch(ctx, &b).Close()
}
