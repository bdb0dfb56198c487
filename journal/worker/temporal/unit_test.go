package temporal

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/workertest"
	"github.com/landedhq/landed/providers/resume"
)

type order struct {
	Order  string `json:"order"`
	Amount int64  `json:"amount,omitempty"`
}

// What a workflow gets of a recorded result is the payload that the first attempt
// would have sent, byte for byte.
func TestCodec_ResultsComeBackAsTheirPayload(t *testing.T) {
	t.Parallel()
	c := codec{converter.GetDefaultDataConverter()}
	for _, row := range []struct {
		name string
		v    any
		want string // as journaled; "" = whatever
	}{
		{"struct", order{"A1", 9007199254740993}, `{"order":"A1","amount":9007199254740993}`},
		{"string", "two\nlines", `"two\nlines"`},
		{"number", 17, `17`},
		{"list", []string{"a"}, `["a"]`},
		{"nothing", nil, `null`},
		{"nil pointer", (*order)(nil), ``},
		{"bytes", []byte{0, 1, 0xff}, ``},
		{"protobuf", &commonpb.WorkflowExecution{WorkflowId: "w"}, ``},
		{"an object that looks like our mark", map[string]any{"temporal_payload": map[string]any{"data": "x"}}, ``},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			raw, err := c.write(row.v)
			if err != nil {
				t.Fatal(err)
			}
			if row.want != "" && string(raw) != row.want {
				t.Errorf("journaled as %s, want %s", raw, row.want)
			}
			v, err := c.result(raw)
			if err != nil {
				t.Fatal(err)
			}
			want, wantErr := c.converter.ToPayload(row.v)
			got, gotErr := c.converter.ToPayload(v)
			if err := errors.Join(wantErr, gotErr); err != nil {
				t.Fatal(err)
			}
			if row.v != nil && !proto.Equal(want, got) {
				t.Errorf("payload %v, want %v", got, want)
			}
		})
	}
}

func TestCodec_Arguments(t *testing.T) {
	t.Parallel()
	c := codec{converter.GetDefaultDataConverter()}
	for _, row := range []struct {
		name string
		args []any
		want string
	}{
		{"none", nil, `[]`},
		{"one object is itself", []any{order{"A1", 5}}, `{"order":"A1","amount":5}`},
		{"one pointer", []any{&order{Order: "A1"}}, `{"order":"A1"}`},
		{"one string", []any{"A1"}, `["A1"]`},
		{"several", []any{"A1", order{Order: "A2"}, int64(9007199254740993), []byte{1}}, `["A1",{"order":"A2"},9007199254740993,{"temporal_payload":{"metadata":{"encoding":"YmluYXJ5L3BsYWlu"},"data":"AQ=="}}]`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			raw, err := c.args(row.args)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(string(raw), ", ", ","); got != row.want {
				t.Errorf("journaled as %s, want %s", got, row.want)
			}
			back, err := c.read(raw, row.args)
			if err != nil {
				t.Fatal(err)
			}
			if len(row.args) > 0 && !reflect.DeepEqual(back, row.args) {
				t.Errorf("read back %#v, want %#v", back, row.args)
			}
		})
	}
	for _, row := range []struct{ name, raw string }{
		{"too few", `[]`}, {"too many", `["a","b"]`}, {"another type", `[17]`}, {"no JSON", `x`},
	} {
		t.Run("refused: "+row.name, func(t *testing.T) {
			t.Parallel()
			if got, err := c.read([]byte(row.raw), []any{"A1"}); err == nil {
				t.Errorf("read as %v, want an error", got)
			}
		})
	}
}

func TestLineage(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	info := func(edit func(*workflow.Info)) *workflow.Info {
		i := &workflow.Info{WorkflowExecution: workflow.Execution{ID: "w", RunID: "now"}, OriginalRunID: "original", FirstRunID: "first", Attempt: 1, WorkflowStartTime: at}
		edit(i)
		return i
	}
	handed := &lineage{Root: "p/first", Path: "c1", Link: 2, Started: at.Add(-time.Hour)}
	for _, row := range []struct {
		name   string
		info   *workflow.Info
		handed *lineage
		want   lineage
		refuse bool
	}{
		{"first run", info(func(*workflow.Info) {}), nil, lineage{Root: "w/first", Started: at}, false},
		{"handed over", info(func(*workflow.Info) {}), handed, *handed, false},
		{"retry of the first run", info(func(i *workflow.Info) { i.Attempt, i.ContinuedExecutionRunID = 2, "first" }), nil, lineage{Root: "w/first"}, false},
		{"retry of a child", info(func(i *workflow.Info) { i.Attempt = 2 }), handed, *handed, false},
		{"continued by a worker without the interceptor", info(func(i *workflow.Info) { i.ContinuedExecutionRunID = "first" }), nil, lineage{Root: "w/original"}, false},
		{"cron ignores what it inherited", info(func(i *workflow.Info) { i.CronSchedule = "* * * * *" }), handed, lineage{Root: "w/original", Started: at}, false},
		{"retry under cron", info(func(i *workflow.Info) { i.CronSchedule, i.Attempt = "* * * * *", 2 }), nil, lineage{}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := own(row.info, row.handed)
			if (err != nil) != row.refuse {
				t.Fatalf("error %v, want refused %v", err, row.refuse)
			}
			if d := cmp.Diff(row.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	l := lineage{Root: "r"}
	prefixes := []string{l.prefix(), l.continued().prefix(), l.continued().continued().prefix(), l.child(1).prefix(), l.continued().child(2).prefix(), l.child(1).continued().child(3).prefix()}
	if d := cmp.Diff([]string{"", "+1", "+2", "c1", "+1c2", "c1+1c3"}, prefixes); d != "" {
		t.Errorf("prefixes (-want +got):\n%s", d)
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	if got := short("order-17/ü"); got != "order-17/ü" {
		t.Errorf("a plain id became %q", got)
	}
	long := strings.Repeat("ü", 500)
	seen := map[string]bool{}
	for _, id := range []string{long, long + "x", "a\nb", "a\tb", "a\xffb"} {
		got := short(id)
		if len(got) > 400 || seen[got] || (journal.BeginRequest{Key: "k", ClaimID: journal.NewToken(), Tool: "t", RootRun: got, Operation: "o"}).Validate() != nil {
			t.Errorf("%.20q became %q (seen before: %v): %v", id, got, seen[got], (journal.BeginRequest{Key: "k", ClaimID: journal.NewToken(), Tool: "t", RootRun: got, Operation: "o"}).Validate())
		}
		seen[got] = true
	}
}

// Every answer of the journal's worker has its type, and only two are retried.
func TestErrorOf(t *testing.T) {
	t.Parallel()
	cause := errors.New("the cause")
	for _, row := range []struct {
		name      string
		a         worker.Answer
		want      string
		retryable bool
	}{
		{"in progress", worker.Answer{Status: worker.StatusInProgress, RetryAfter: 7 * time.Second}, TypeLater, true},
		{"verifying", worker.Answer{Status: worker.StatusUnknown, Directive: journal.DirectiveVerifying, RetryAfter: 7 * time.Second}, TypeLater, true},
		{"unreported", worker.Answer{Status: worker.StatusUnknown, Reason: "unreported", RetryAfter: 7 * time.Second}, TypeLater, true},
		{"no journal", worker.Answer{Status: worker.StatusHardStop, Reason: "journal_unavailable", RetryAfter: 7 * time.Second}, TypeUnavailable, true},
		{"restored journal", worker.Answer{Status: worker.StatusHardStop, Reason: journal.ReasonRestored, RetryAfter: 7 * time.Second}, TypeUnavailable, true},
		{"parked", worker.Answer{Status: worker.StatusUnknown, Directive: journal.DirectiveParked, Cursor: 9, EffectID: "e"}, TypeParked, false},
		{"refused", worker.Answer{Status: worker.StatusRefused}, TypeRefused, false},
		{"abandoned", worker.Answer{Status: worker.StatusAbandoned, Decision: &journal.Resolution{Kind: journal.ResolvedNotLanded, Compensate: true}}, TypeAbandoned, false},
		{"budget", worker.Answer{Status: worker.StatusHardStop, Reason: "budget_spent"}, TypeHardStop, false},
		{"expired", worker.Answer{Status: worker.StatusHardStop, Reason: "expired"}, TypeHardStop, false},
		{"key reused", worker.Answer{Status: worker.StatusReplan, Reason: "key_reused"}, TypeKeyReused, false},
		{"bad call", worker.Answer{Status: worker.StatusReplan, Problems: []string{"amount is missing"}}, TypeMisuse, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			err := errorOf(row.a, "the/key", cause)
			var app *sdk.ApplicationError
			if !errors.As(err, &app) || app.Type() != row.want || app.NonRetryable() == row.retryable || !errors.Is(err, cause) {
				t.Fatalf("error %v", err)
			}
			if row.retryable && app.NextRetryDelay() != 7*time.Second {
				t.Errorf("next retry after %v, want the journal's delay", app.NextRetryDelay())
			}
			d, ok := DetailsOf(err)
			want := Details{Type: row.want, Key: "the/key", EffectID: row.a.EffectID, Status: row.a.Status, Reason: row.a.Reason, Cursor: row.a.Cursor, RetryAfter: row.a.RetryAfter}
			if row.a.Decision != nil {
				want.Resolution, want.Compensate = row.a.Decision.Kind, true
			}
			if diff := cmp.Diff(want, d); !ok || diff != "" {
				t.Errorf("details (-want +got):\n%s", diff)
			}
		})
	}
	if _, ok := DetailsOf(sdk.NewApplicationErrorWithCause("outer", "Theirs", errorOf(worker.Answer{Status: worker.StatusRefused}, "k", nil))); !ok {
		t.Error("details behind another application error are not found")
	}
	if _, ok := DetailsOf(errors.New("else")); ok {
		t.Error("any error has details")
	}
}

// The same resolution twice, or an old one, wakes nobody.
func TestRun_TakesEachResolutionOnce(t *testing.T) {
	t.Parallel()
	r := newRun()
	m := func(cursor int64) message {
		var m message
		m.Data.EffectID, m.Data.Cursor = "e", cursor
		return m
	}
	if got := r.take(m(5)); got != (Taken{}) {
		t.Errorf("nobody waits: %+v", got)
	}
	done := r.wait("e", 5)
	for _, row := range []struct {
		cursor int64
		want   Taken
	}{{5, Taken{Seen: true}}, {4, Taken{Seen: true}}, {6, Taken{Resumed: true}}, {6, Taken{Seen: true}}} {
		if got := r.take(m(row.cursor)); got != row.want {
			t.Errorf("cursor %d: %+v, want %+v", row.cursor, got, row.want)
		}
	}
	done()
	if got := r.take(m(7)); got.Resumed {
		t.Error("nobody waits any more, and somebody is said to have resumed")
	}
}

// What Landed sends is read here.
func TestMessage_IsThatOfTheDispatcher(t *testing.T) {
	t.Parallel()
	h := journal.Handover{Resolution: journal.Resolution{ID: "r", Cursor: 7, EffectID: "e", Kind: journal.ResolvedReissue, Key: "k"}}
	p, err := converter.GetDefaultDataConverter().ToPayload(resume.NewMessage("https://desk.example.com", h).Payload())
	if err != nil {
		t.Fatal(err)
	}
	var m message
	if err := converter.GetDefaultDataConverter().FromPayload(p, &m); err != nil {
		t.Fatal(err)
	}
	if m.Type != typeResolution || m.Data.Cursor != 7 || m.Data.EffectID != "e" || m.Data.ResolutionID != "r" {
		t.Errorf("read as %+v", m)
	}
}

func TestNewInterceptor_SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	tool := journal.Tool{Class: journal.ClassAtMostOnce, ClientTimeout: time.Second}
	good := func() Config {
		return Config{Journal: workertest.NewMemory(), Activities: map[string]Activity{"Send": {Tool: tool}}}
	}
	for _, row := range []struct {
		name string
		edit func(*Config)
		want string // "" = fine
	}{
		{"good", func(*Config) {}, ""},
		{"no journal", func(c *Config) { c.Journal = nil }, "no journal"},
		{"no activity", func(c *Config) { c.Activities = nil }, "no activity is declared"},
		{"no class", func(c *Config) { c.Activities["Send"] = Activity{} }, "class"},
		{"read only", func(c *Config) { c.Activities["Look"] = Activity{Tool: journal.Tool{Class: journal.ClassReadOnly}} }, "leave it out"},
		{"short window", func(c *Config) {
			c.Activities["Pay"] = Activity{Tool: journal.Tool{Class: journal.ClassProviderIdempotent, ClientTimeout: time.Second, KeyWindow: time.Minute}}
		}, "leaves no time"},
		{"polls", func(c *Config) { c.PollMin, c.PollMax = time.Hour, time.Minute }, "no range"},
		{"update without a target", func(c *Config) { c.ByUpdate = true }, "needs ResumeTo"},
		{"one tool twice", func(c *Config) {
			named := tool
			named.Name = "Send"
			c.Activities["Other"] = Activity{Tool: named}
		}, "the name is taken"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := good()
			row.edit(&c)
			_, err := NewInterceptor(c)
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want one that says %q", err, row.want)
			}
		})
	}
}

func TestPolls(t *testing.T) {
	t.Parallel()
	c := Config{PollMin: time.Minute, PollMax: time.Hour}
	var got []time.Duration
	for n := range 8 {
		got = append(got, c.pollAfter(n)/time.Minute)
	}
	if d := cmp.Diff([]time.Duration{1, 2, 4, 8, 16, 32, 60, 60}, got); d != "" {
		t.Errorf("minutes (-want +got):\n%s", d)
	}
	if pause(0, 0) != time.Second || pause(0, 20) != time.Minute || pause(2*time.Minute, 0) != 2*time.Minute {
		t.Error("pauses are not what they should be")
	}
}
