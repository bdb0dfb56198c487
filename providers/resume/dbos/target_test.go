package dbos_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/providers/resume"
	"github.com/landedhq/landed/providers/resume/dbos"
)

func TestMain(m *testing.M) { journaltest.Main(m) }

func message() resume.Message {
	return resume.Message{ID: "0190c0de-0000-7000-8000-000000000001", At: time.Now(), Resume: []byte(`{"to":"dbos","workflow_id":"w-1"}`), Try: 1}
}

// TestNotSetUp asks a database that never saw DBOS: nothing but the answer's type
// can be tested without its tables. The rest is in journal/worker/dbos, with DBOS.
func TestNotSetUp(t *testing.T) {
	t.Parallel()
	dsn := journaltest.Database(t, nil)
	target, err := dbos.Config{Name: "dbos", DSN: func() (string, error) { return dsn, nil }}.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	var f *resume.Failure
	if _, err := target.Deliver(t.Context(), message()); !errors.As(err, &f) || f.Outcome != journal.HandoverAuth {
		t.Errorf("delivering: %v", err)
	}
	if err := target.Probe(t.Context()); !errors.As(err, &f) || f.Outcome != journal.HandoverAuth {
		t.Errorf("probing: %v", err)
	}
}

// TestDeliverTx_OfAnotherDatabase: the transaction is the journal's, the tables
// are elsewhere.
func TestDeliverTx_OfAnotherDatabase(t *testing.T) {
	t.Parallel()
	target, err := dbos.Config{Name: "dbos", DSN: func() (string, error) { return "", nil }}.Open()
	if err != nil {
		t.Fatal(err)
	}
	var tx pgx.Tx
	if _, err := target.DeliverTx(t.Context(), tx, message()); err == nil || target.InTx() {
		t.Errorf("InTx %t, %v", target.InTx(), err)
	}
}

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	target, err := dbos.Config{Name: "dbos", DSN: func() (string, error) { return "", nil }}.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, resume, want string }{
		{"workflow only", `{"to":"dbos","workflow_id":"w-1"}`, ""},
		{"with topic", `{"to":"dbos","workflow_id":"w-1","topic":"decisions"}`, ""},
		{"nothing", ``, "nothing of where"},
		{"no workflow", `{"to":"dbos","topic":"decisions"}`, "workflow_id"},
		{"a slip", `{"to":"dbos","workflow":"w-1"}`, "workflow"},
		{"another type", `{"to":"dbos","workflow_id":17}`, "workflow_id"},
		{"NUL", `{"to":"dbos","workflow_id":"w\u0000"}`, "NUL"},
		{"too long to notify of", `{"to":"dbos","workflow_id":"` + strings.Repeat("w", 8000) + `"}`, "too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := target.Check([]byte(c.resume))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, wanted something of %q", err, c.want)
			}
			var f *resume.Failure
			if c.want != "" {
				m := message()
				m.Resume = []byte(c.resume)
				if _, err := target.Deliver(t.Context(), m); !errors.As(err, &f) {
					t.Errorf("delivering there: %v", err)
				}
			}
		})
	}
}
