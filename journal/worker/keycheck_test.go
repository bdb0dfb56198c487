package worker_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/workertest"
)

// checked runs calls and returns the kinds of findings, and the log.
func checked(t *testing.T, calls ...worker.Call) ([]worker.FindingKind, string) {
	t.Helper()
	var kinds []worker.FindingKind
	var log bytes.Buffer
	r := worker.NewRegistry()
	register(t, r, worker.ToolSpec{Tool: tool("t", journal.ClassAtMostOnce), Run: func(context.Context, worker.Call) (worker.Outcome, error) {
		return worker.Outcome{}, nil
	}})
	w := newWorker(t, workertest.NewMemory(), r, worker.Options{
		Logger:    slog.New(slog.NewTextHandler(&log, nil)),
		OnFinding: func(f worker.Finding) { kinds = append(kinds, f.Kind) },
	})
	for _, c := range calls {
		c.Tool = "t"
		if c.Run.RootRun == "" {
			c.Run.RootRun = "root-7"
		}
		if c.Step == "" {
			c.Step = "pay"
		}
		if _, err := w.Do(t.Context(), c); err != nil {
			t.Fatalf("Do: %v", err)
		}
	}
	return kinds, log.String()
}

func TestKeyCheck_J07_J08_J11_J30(t *testing.T) {
	t.Parallel()
	args := []byte(`{"order": "A1", "note": "late parcel"}`)
	sha := sha256.Sum256(args)
	compact := md5.Sum([]byte(`{"order":"A1","note":"late parcel"}`))
	now := time.Now()
	for _, row := range []struct {
		name string
		call worker.Call
		want []worker.FindingKind
	}{
		{"derived", worker.Call{}, nil},
		{"stable key of the caller", worker.Call{Key: "invoice-2026-00017"}, nil},
		{"a date may name a report", worker.Call{Key: "daily-report/" + now.Format(time.DateOnly)}, nil},
		{"a time inside the root run's id", worker.Call{Run: worker.Run{RootRun: fmt.Sprint("run-", now.Unix())}, Key: fmt.Sprintf("run-%d/pay", now.Unix())}, nil},
		{"an operation named call_customer", worker.Call{Key: "crm/call_customer/17"}, nil},
		{"J-07 hash of the arguments", worker.Call{Key: "refund-" + hex.EncodeToString(sha[:]), Args: args}, []worker.FindingKind{worker.FindingArgsHash}},
		{"J-07 cut hash of the compacted arguments", worker.Call{Key: hex.EncodeToString(compact[:])[:20], Args: args}, []worker.FindingKind{worker.FindingArgsHash}},
		{"J-08 call id", worker.Call{Key: "mail/call_3"}, []worker.FindingKind{worker.FindingCallID}},
		{"J-08 call id of another vendor, as step", worker.Call{Step: "toolu_01A09q90qw90lq917835lq9"}, []worker.FindingKind{worker.FindingCallID}},
		{"Unix time", worker.Call{Key: fmt.Sprint("pay-", now.Unix())}, []worker.FindingKind{worker.FindingTime}},
		{"Unix time in milliseconds", worker.Call{Key: fmt.Sprint("pay-", now.UnixMilli())}, []worker.FindingKind{worker.FindingTime}},
		{"date and time", worker.Call{Key: "pay-" + now.UTC().Format("2006-01-02T15:04:05Z")}, []worker.FindingKind{worker.FindingTime}},
		{"attempt counter", worker.Call{Key: "pay/A1/attempt-2"}, []worker.FindingKind{worker.FindingAttempt}},
		{"J-30 mail address", worker.Call{Key: "welcome/anna@example.test"}, []worker.FindingKind{worker.FindingPersonal}},
		{"J-30 telephone number as item", worker.Call{Item: "+4915112345678"}, []worker.FindingKind{worker.FindingPersonal}},
		{"J-11 key inside the arguments", worker.Call{Args: []byte(`{"idempotency_key":"k","amount":5}`)}, []worker.FindingKind{worker.FindingKeyInArgs}},
		{"J-11 key one level down", worker.Call{Args: []byte(`{"options":{"idempotencyKey":"k"}}`)}, []worker.FindingKind{worker.FindingKeyInArgs}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, _ := checked(t, row.call)
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKeyCheck_RandomKeyPerCall(t *testing.T) {
	t.Parallel()
	uuid := func(n int) worker.Call {
		return worker.Call{Key: fmt.Sprintf("9b2f6a1%d-3c4d-4e5f-8a9b-0c1d2e3f4a5b", n)}
	}
	if got, _ := checked(t, uuid(1), uuid(1)); got != nil {
		t.Errorf("the same random key twice: %v, want no finding", got)
	}
	got, log := checked(t, uuid(1), uuid(2), uuid(3))
	if !slices.Equal(got, []worker.FindingKind{worker.FindingUnstable, worker.FindingUnstable}) {
		t.Errorf("three random keys for one step: %v, want two findings", got)
	}
	if n := strings.Count(log, string(worker.FindingUnstable)); n != 1 {
		t.Errorf("the log has the finding %d times, want once", n)
	}
	if strings.Contains(log, "9b2f6a1") {
		t.Error("the log holds the key")
	}
}

func TestJ11_EmptyKeyIsAnErrorBeforeAnyWrite(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]worker.Call{
		"no root run": {Step: "s"}, "no step": {Run: worker.Run{RootRun: "r"}},
		"blank key": {Key: "   ", Run: worker.Run{RootRun: "r"}, Step: "s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := workertest.NewMemory()
			f := newFixture(t, j, spec("mail.send", journal.ClassAtMostOnce, confirm))
			call.Tool = "mail.send"
			a, err := f.Do(t.Context(), call)
			if a.Status != worker.StatusReplan || err == nil {
				t.Errorf("Do = %s, %v; want replan and an error", a.Status, err)
			}
			if j.Count() != 0 {
				t.Error("something was journaled")
			}
		})
	}
}
