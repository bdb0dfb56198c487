package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client/wire"
)

func TestParseSpan(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "30000": 30 * time.Second, "30s": 30 * time.Second, "1m30s": 90 * time.Second, "-5": -5 * time.Millisecond, "1.5s": 1500 * time.Millisecond,
	} {
		if got, err := wire.ParseSpan("wait", text); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "30", "1.5", "soon", "9223372036854775807", "30 s", "１"} {
		if text == "30" {
			continue // milliseconds
		}
		var bad *journal.InvalidError
		if got, err := wire.ParseSpan("wait", text); !errors.As(err, &bad) || bad.Field != "wait" {
			t.Errorf("%q is %v, %v; want an InvalidError", text, got, err)
		}
	}
}

// What remains is rounded down, what must be waited up, and a key window that
// is nearly over is not turned into none.
func TestBeginAnswer_Rounding(t *testing.T) {
	t.Parallel()
	const µ = time.Microsecond
	in := journal.BeginAnswer{Directive: journal.DirectiveExecute, LeaseFor: 1500 * µ, SendBy: -100 * µ, Deadline: 999 * µ, KeyWindow: 300 * µ, RetryAfter: 1001 * µ, Since: 1999 * µ}
	b, err := wire.EncodeBeginAnswer(in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := wire.DecodeBeginAnswer(b)
	want := journal.BeginAnswer{Directive: journal.DirectiveExecute, LeaseFor: time.Millisecond, SendBy: -time.Millisecond, KeyWindow: time.Millisecond, RetryAfter: 2 * time.Millisecond, Since: time.Millisecond}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestBeginAnswer_ReturnWithoutResultSaysNull(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		result []byte
		want   string
	}{{nil, `"result":null`}, {[]byte("null"), `"result_base64":"bnVsbA=="`}, {[]byte{}, `"result_base64":""`}, {[]byte(`{"a": 1}`), `"result":{"a": 1}`}, {[]byte("1\n"), `"result_base64":"MQo="`}, {[]byte("\"\xff\""), `"result_base64":"Iv8i"`}} {
		b, err := wire.EncodeBeginAnswer(journal.BeginAnswer{Directive: journal.DirectiveReturn, Result: c.result})
		if err != nil || !bytes.Contains(b, []byte(c.want)) {
			t.Errorf("result %q is written %s, %v; want %s", c.result, b, err, c.want)
		}
	}
}

func TestDecode_Leniency(t *testing.T) {
	t.Parallel()
	if a, err := wire.DecodeBeginAnswer([]byte(`{"directive":"parked","from_a_newer_server":{"x":1},"cursor":3}`)); err != nil || a.Cursor != 3 {
		t.Errorf("a newer server's answer: %+v, %v", a, err)
	}
	if r, err := wire.DecodeCommit("x", []byte("{\"provider_id\":\"\xff\\ud800\",\"result\":{\"a\":1,\"a\":2}}")); err != nil || r.ProviderID != "\uFFFD\uFFFD" || string(r.Result) != `{"a":1,"a":2}` {
		t.Errorf("a commit of odd text: %q %q, %v", r.ProviderID, r.Result, err)
	}
	if _, err := wire.DecodeHandle("x", []byte(`{"value":"\ud800"}`)); err == nil {
		t.Error("a handle that can't be kept is taken")
	}
}

// FuzzBegin: whatever is sent, the answer is a request or an InvalidError, and
// a request that is taken keeps its bytes and survives its own round trip.
func FuzzBegin(f *testing.F) {
	for _, s := range []string{
		`{"key":"k","args":{"a": 1}}`, `{"args_base64":"AA==","lease":"1s"}`, `{"labels":{"a":"\ud83d\ude00"}}`, `{"args":null,"resume":[1 , 2]}`,
		`{"root_run_started_at":"2026-11-30T08:15:00.5+01:00","client_timeout":5}`, "{\"subject\":\"\xff\"}", `{"a":`, `[]`, `{"":{}}`, `{"key":"k","key":"k"}`, `{"subject":"\u"}`, `{"subject":"\ud800\`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := wire.DecodeBegin(body)
		if err != nil {
			var bad *journal.InvalidError
			if !errors.As(err, &bad) || bad.Field == "" || !utf8.ValidString(bad.Error()) {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		again, err := wire.EncodeBegin(r)
		if err != nil || !json.Valid(again) {
			t.Fatalf("%q: written %q, %v", body, again, err)
		}
		back, err := wire.DecodeBegin(again)
		if len(r.Labels) == 0 {
			r.Labels, back.Labels = nil, nil
		}
		if diff := cmp.Diff(r, back); err != nil || diff != "" {
			t.Fatalf("%q: %v\n%s", body, err, diff)
		}
	})
}

// FuzzResult: any bytes at all come back as they are.
func FuzzResult(f *testing.F) {
	for _, s := range []string{`{"a": 1}`, "1\n", "null", "", "\xff", `{"a":"\ud800"}`, "\"\u2028\"", `{"a":2,"a":3}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, result []byte) {
		if result == nil {
			result = []byte{}
		}
		b, err := wire.EncodeCommit(journal.CommitRequest{Result: result})
		if err != nil {
			t.Fatal(err)
		}
		r, err := wire.DecodeCommit("x", b)
		if err != nil || !bytes.Equal(r.Result, result) || r.Result == nil {
			t.Fatalf("%q came back as %q, %v", result, r.Result, err)
		}
		p, err := wire.Problem{Code: wire.CodeInProgress}.Encode(b)
		if err != nil || !json.Valid(p) {
			t.Fatalf("joined: %s, %v", p, err)
		}
	})
}
