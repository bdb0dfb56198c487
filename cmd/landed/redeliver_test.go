package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
)

// TestRedeliverByCommand: shown, handed over again with an audit row, and refused
// where there is nothing to hand over.
func TestRedeliverByCommand(t *testing.T) {
	dsn := journaltest.Database(t, postgres.Migrate)
	t.Setenv("LANDED_TEST_DATABASE", dsn)
	t.Setenv("LANDED_TEST_SECRET", "s3cret-that-is-long-enough")
	file := filepath.Join(t.TempDir(), "landed.yaml")
	if err := os.WriteFile(file, []byte(strings.TrimSuffix(resumeHead, "resume:\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := postgres.Open(t.Context(), dsn, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.RegisterTool(t.Context(), journal.Tool{Name: "mail.send", Class: journal.ClassAtMostOnce, Provider: "none", ClientTimeout: time.Second}); err != nil {
		t.Fatal(err)
	}
	k := closedEffect(t, s, "k-1", `{"to":"flow"}`)
	id := k.Effect.ID
	if _, err := s.Pool().Exec(t.Context(), "update deliveries set handover = 'refused', target = 'flow', handover_reason = 'gone', next_at = null"); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	var out bytes.Buffer
	show := func() outcomeLine {
		t.Helper()
		out.Reset()
		if err := (&effectsShowCmd{Config: file, ID: id}).Run(t.Context(), stdio{out: &out}, log); err != nil {
			t.Fatal(err)
		}
		var v struct{ Outcomes []outcomeLine }
		if err := json.Unmarshal(out.Bytes(), &v); err != nil || len(v.Outcomes) != 1 {
			t.Fatalf("%v in %s", err, out.String())
		}
		return v.Outcomes[0]
	}
	if o := show(); o.Delivery != "refused" || o.Target != "flow" || o.Why != "gone" || o.Resolution != "close_not_landed" {
		t.Errorf("shown: %+v", o)
	}
	again := &effectsRedeliverCmd{Config: file, ID: id}
	if err := again.Run(t.Context(), stdio{out: &out}, log); err != nil || !strings.Contains(out.String(), "handed over again") {
		t.Errorf("%v, %s", err, out.String())
	}
	if o := show(); o.Delivery != "pending" || o.NextAt == nil {
		t.Errorf("then: %+v", o)
	}
	if err := s.Ack(t.Context(), k.Resolutions[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := again.Run(t.Context(), stdio{out: &out}, log); err == nil {
		t.Error("what was acknowledged is handed over again")
	}
	if o := show(); o.Delivery != "acknowledged" || o.AckedAt == nil {
		t.Errorf("at the end: %+v", o)
	}
	var source string
	if err := s.Pool().QueryRow(t.Context(), "select convert_from(body, 'UTF8')::json->'detail'->>'source' from audit where kind = 'redelivered'").Scan(&source); err != nil || source != "cli" {
		t.Errorf("the audit row says %q (%v)", source, err)
	}
}
