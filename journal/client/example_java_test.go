package client_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
)

const javaExample = "examples/java"

// jdk returns a command of the JDK.
func jdk(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := exec.LookPath(name)
	if err != nil {
		journaltest.Missing(t, name, "apt-get install --no-install-recommends openjdk-17-jdk-headless (17 or newer)")
	}
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.WaitDelay, cmd.Env = 10*time.Second, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	return cmd
}

// javac compiles sources into a folder; what it says is an error.
func javac(t *testing.T, into string, more ...string) ([]byte, error) {
	t.Helper()
	return jdk(t, "javac", append([]string{"-encoding", "UTF-8", "--release", "17", "-Xlint:all", "-Werror", "-d", into, "-cp", into}, more...)...).CombinedOutput()
}

// compiled compiles the example, warnings are errors, and returns the classes.
func compiled(t *testing.T) string {
	t.Helper()
	var sources []string
	err := filepath.WalkDir(javaExample, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".java") {
			sources = append(sources, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	classes := t.TempDir()
	if out, err := javac(t, classes, sources...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return classes
}

// java is the worker in one or more virtual machines, one journal, one
// payment provider.
type java struct {
	*example
	classes string
	pay     *payments
	wire    *wire
}

func newJava(t *testing.T, classes string, pay *payments) *java {
	t.Helper()
	e := newExample(t)
	return &java{e, classes, pay, newWire(t, e.url)}
}

// start starts a virtual machine with the same run: what a restart is.
func (j *java) start(flags ...string) *child {
	j.Helper()
	// What starts a virtual machine faster; it changes nothing of what it does.
	args := []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", j.classes, "shop.Main", "--landed", j.wire.URL, "--gateway", j.pay.URL + "/charges", "--run", "order-17"}
	cmd := jdk(j.T, "java", append(args, flags...)...)
	cmd.Stderr = &tail{t: j.T}
	return j.run(cmd)
}

// until passes over lines up to one of a kind.
func (c *child) until(kind string) event {
	c.Helper()
	var seen []event
	deadline := time.After(time.Minute)
	for {
		select {
		case ev, ok := <-c.events:
			if seen = append(seen, ev); !ok {
				c.Fatalf("the worker ended after %v, want %s", seen, kind)
			}
			if ev["event"] == kind {
				return ev
			}
		case <-deadline:
			c.Fatalf("the worker says %v within a minute, want %s", seen, kind)
		}
	}
}

// reached waits until something that the test arranged has happened.
func reached(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatalf("not reached within a minute: %s", what)
	}
}

// charged compares what the provider took with what it should have taken.
func (j *java) charged(notes ...string) {
	j.Helper()
	var got []string
	for _, c := range j.pay.list() {
		got = append(got, c.Note)
	}
	if !slices.Equal(got, notes) {
		j.Errorf("charged with the notes %q, want %q", got, notes)
	}
}

func (j *java) snapshot(id string) journal.Snapshot {
	j.Helper()
	s, err := j.store.Snapshot(j.Context(), id)
	if err != nil {
		j.Fatal(err)
	}
	return s
}

// killedAt starts a worker, kills it when a call to the journal is held, lets
// its lease pass, and returns its effect.
func (j *java) killedAt(call string, flags ...string) string {
	j.Helper()
	j.wire.stop(call)
	c := j.start(flags...)
	reached(j.T, call, j.wire.held)
	c.kill()
	e := j.effect()
	j.leaseOver(e)
	return e
}

// effect is the id of the one effect that there is.
func (j *java) effect() string {
	j.Helper()
	var id string
	if err := j.store.Pool().QueryRow(j.Context(), `select id::text from effects`).Scan(&id); err != nil {
		j.Fatal(err)
	}
	return id
}

const honey = "one jar of honey"

// TestJava runs the Java example: it compiles without a warning, and each story
// below is one or more virtual machines with the same run.
func TestJava(t *testing.T) {
	t.Parallel()
	classes := compiled(t)
	for name, story := range map[string]func(t *testing.T, classes string){
		"SelfTest":                               javaSelfTest,
		"GatewayNeedsTheJournal":                 javaGatewayNeedsTheJournal,
		"J01_KilledAfterTheCharge":               javaKilledAfterTheCharge,
		"J01_TimedOutAndEnded":                   javaTimedOutAndEnded,
		"J04_LoopTimedOutWhileTheChargeRuns":     javaLoopTimedOut,
		"J15_KilledBeforeTheCharge":              javaKilledBeforeTheCharge,
		"J03_J08_LoopRestartedAfterTheToolRan":   javaLoopRestarted,
		"J09_KeyReused":                          javaKeyReused,
		"J20_JournalDownBefore":                  javaJournalDownBefore,
		"J20_JournalDownAfter":                   javaJournalDownAfter,
		"ProviderIdempotentInItsWindow":          javaProviderIdempotent,
		"ReissueExecutesTheStoredArgsOnce":       javaReissue,
		"J15_NothingListens":                     javaNothingListens,
		"J16_J17_EachAnswerOfThePaymentProvider": javaAnswers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(t, classes)
		})
	}
}

func javaSelfTest(t *testing.T, classes string) {
	if out, err := jdk(t, "java", "-ea", "-cp", classes, "landed.SelfTest").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Nobody charges around the journal: each line of the list would, and does not
// compile, for the reason that is given.
func javaGatewayNeedsTheJournal(t *testing.T, classes string) {
	const frame = "package shop;\nfinal class Around { void go(PaymentGateway gateway, ChargeRequest wish) throws Exception { %s; } }\n"
	for _, row := range []struct{ name, code, reason string }{
		{"no grant", `gateway.charge()`, "method charge in class PaymentGateway cannot be applied to given types"},
		{"args instead", `gateway.charge(wish)`, "ChargeRequest cannot be converted to Grant"},
		{"a key instead", `gateway.charge(landed.EffectKey.derive("r", "s", "o", ""))`, "EffectKey cannot be converted to Grant"},
		{"a grant of one's own", `gateway.charge(new landed.Grant(null, null, null))`, "Grant(Json,byte[],Clock) is not public in Grant"},
		{"a grant by inheritance", `class Mine extends landed.Grant { }`, "cannot inherit from final Grant"},
		{"past the method", `gateway.send(null)`, "has private access in PaymentGateway"},
		{"control: it compiles with what a journal gives", `landed.Effect effect = gateway::charge; effect.hashCode()`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			source := filepath.Join(dir, "Around.java")
			if err := os.WriteFile(source, fmt.Appendf(nil, frame, row.code), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := jdk(t, "javac", "-d", dir, "-cp", classes, source).CombinedOutput()
			if row.reason == "" && err != nil || row.reason != "" && !bytes.Contains(out, []byte(row.reason)) {
				t.Errorf("javac says %v, want %q:\n%s", err, row.reason, out)
			}
		})
	}
}

// The first machine charges and is killed before its commit arrives. The second
// is told that the first may still be at it, the third that a person decides.
func javaKilledAfterTheCharge(t *testing.T, classes string) {
	j := newJava(t, classes, newPayments(t))
	j.wire.stop("POST /commit")
	first := j.start()
	id := fmt.Sprint(first.until("executing")["effect_id"])
	reached(t, "the commit", j.wire.held)
	first.kill()

	second := j.start("--patience", "0")
	if ev := second.until("stopped"); ev["directive"] != "in_progress" || ev["effect_id"] != id {
		t.Errorf("while the lease lasts the worker is told %v", ev)
	}
	second.exit(7)
	j.leaseOver(id)

	third := j.start("--note", "reworded by a model")
	if ev := third.until("stopped"); ev["directive"] != "parked" || ev["status"] != "unknown" || ev["reason"] != "at_most_once" || ev["effect_id"] != id {
		t.Errorf("after the lease the worker is told %v", ev)
	}
	j.decide(id, journal.VerbCloseLanded, "")
	if ev := third.until("resumed"); ev["resolution"] != "close_landed" || ev["by"] != "operator:olga" {
		t.Errorf("the worker hears %v", ev)
	}
	if ev := third.until("finished"); ev["status"] != "done" || ev["settled_by"] != "operator:olga" {
		t.Errorf("the worker ends with %v", ev)
	}
	third.exit(0)
	j.charged(honey)
	if j.snapshot(id).Effect.OpenDelivery {
		t.Error("the delivery is open: the begin that returned the outcome closes it")
	}
}

// A time limit on the whole loop ends the first machine while the provider
// works. It charged, and nobody knows.
func javaTimedOutAndEnded(t *testing.T, classes string) {
	j := newJava(t, classes, newPayments(t, held))
	first := j.start("--loop-timeout", "5000", "--retries", "0")
	id := fmt.Sprint(first.until("executing")["effect_id"])
	reached(t, "the charge", j.pay.made)
	first.until("loop_timed_out")
	first.exit(1)
	close(j.pay.hold)
	j.leaseOver(id)

	second := j.start()
	second.until("stopped")
	j.decide(id, journal.VerbCloseNotLanded, "") // wrong, as people are: it stays one charge all the same
	second.until("resumed")
	if ev := second.until("finished"); ev["status"] != "abandoned" {
		t.Errorf("the worker ends with %v", ev)
	}
	second.exit(4)
	j.charged(honey)
}

// The loop is cut off and repeated while its charge still runs: the attempt goes
// on, its commit is written although its caller is gone, and the repeated loop
// gets what came of it.
func javaLoopTimedOut(t *testing.T, classes string) {
	j := newJava(t, classes, newPayments(t, held))
	c := j.start("--loop-timeout", "3000", "--retries", "40", "--lease", "5000")
	id := fmt.Sprint(c.until("executing")["effect_id"])
	c.until("loop_timed_out")
	close(j.pay.hold)
	if ev := c.until("finished"); ev["status"] != "done" || ev["provider_id"] != "ch_1" || ev["settled_by"] != "worker" {
		t.Errorf("the worker ends with %v", ev)
	}
	c.exit(0)
	j.charged(honey)
	if n := len(j.snapshot(id).Attempts); n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
}

// The grant's answer never arrives: nothing was sent, and only a person can say
// so, because no report means that it may have been.
func javaKilledBeforeTheCharge(t *testing.T, classes string) {
	j := newJava(t, classes, newPayments(t))
	id := j.killedAt("answer of POST /v1/effects")
	j.charged()
	c := j.start("--wait", "0")
	if ev := c.until("stopped"); ev["directive"] != "parked" || ev["effect_id"] != id {
		t.Errorf("the worker is told %v", ev)
	}
	c.exit(6)
	j.charged()
	j.decide(id, journal.VerbReissue, journal.NewKey)
	again := j.start()
	if ev := again.until("executing"); ev["attempt"] != 2.0 {
		t.Errorf("the order is executed as %v", ev)
	}
	again.until("finished")
	again.exit(0)
	j.charged(honey)
}

// A retry around the whole agent loop runs the tool again after it succeeded,
// with words of its own: it gets the recorded result, byte for byte.
func javaLoopRestarted(t *testing.T, classes string) {
	j := newJava(t, classes, newPayments(t))
	c := j.start("--model-failures", "2")
	var results []string
	for range 3 {
		var told struct{ Result string }
		if err := json.Unmarshal(fmt.Append(nil, c.until("tool")["text"]), &told); err != nil {
			t.Fatal(err)
		}
		results = append(results, told.Result)
	}
	c.until("finished")
	c.exit(0)
	const recorded = "{\"id\": \"ch_1\", \"paid\": 12.50}\n"
	if diff := cmp.Diff([]string{recorded, recorded, recorded}, results); diff != "" {
		t.Errorf("the tool answered (-want +got):\n%s", diff)
	}
	j.charged(honey)
}
