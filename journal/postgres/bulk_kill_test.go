package postgres_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/decide"
	"github.com/landedhq/landed/journal/postgres"
)

// bulkVictimEnv makes this test binary a runner that halts at a boundary.
const bulkVictimEnv = "LANDED_TEST_BULK_VICTIM"

type bulkVictim struct{ DSN, At string }

// halting tells the parent where it stands and never goes on.
type halting struct {
	*postgres.Store
	at string
	n  *int
}

func (h halting) EndBulkItem(ctx context.Context, id string, it journal.BulkItem) error {
	*h.n++
	if *h.n == 3 && h.at == "decided, not noted" {
		h.halt()
	}
	err := h.Store.EndBulkItem(ctx, id, it)
	if *h.n == 3 && h.at == "noted" {
		h.halt()
	}
	return err
}

func (h halting) halt() {
	fmt.Println("AT " + h.at)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	os.Exit(3)
}

func beBulkVictim(env string) error {
	var v bulkVictim
	if err := json.Unmarshal([]byte(env), &v); err != nil {
		return err
	}
	s, err := postgres.Open(context.Background(), v.DSN, postgres.Options{Policy: journal.DefaultPolicy(), MaxConns: 2})
	if err != nil {
		return err
	}
	quiet := slog.New(slog.DiscardHandler)
	u := decide.New(s, blind{}, quiet)
	return decide.NewBulkRunner(halting{s, v.At, new(int)}, u, quiet).WithLease(time.Second).Round(context.Background())
}

// TestBulk_KilledInTheMiddle: a runner is killed (SIGKILL) with the third
// decision taken, before and after it noted so; another one continues, and no
// effect is decided twice.
func TestBulk_KilledInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"decided, not noted", "noted"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t)
			ids := d.outage(6, journal.NotFound)
			b := d.freeze(journal.ListFilter{})
			d.order(b, bulkOrder(b.ID, journal.VerbReissue, journal.NewKey))
			killRunner(t, bulkVictim{d.dsn, at})
			b = d.bulk(b.ID)
			if n := b.Tally(); b.State != journal.BulkRunning || n[journal.BulkDecided] != 3 || n[""] != 3 {
				t.Fatalf("left behind: %s, %v", b.State, n)
			}
			r := runner(d, blind{})
			for deadline := time.Now().Add(time.Minute); d.bulk(b.ID).State == journal.BulkRunning && time.Now().Before(deadline); {
				d.round(r) // nothing, until the dead runner's lease is over
			}
			d.wantAllDecidedOnce(b.ID, ids)
		})
	}
}

// killRunner starts a runner and kills it once it says where it stands.
func killRunner(t *testing.T, v bulkVictim) {
	t.Helper()
	env, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), bulkVictimEnv+"="+string(env)), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close() //nolint:errcheck // it is dead by then
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "AT ") {
		t.Errorf("the runner said %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // killed
}
