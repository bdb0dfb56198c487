package worker_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

func header(kv ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(kv); i += 2 {
		h.Set(kv[i], kv[i+1])
	}
	return h
}

func TestClassify_R02_R09_R11_R12_R15_R16(t *testing.T) {
	t.Parallel()
	const sent, refused, confirmed = journal.PhaseSent, journal.PhaseRefused, journal.PhaseConfirmed
	type want struct {
		phase    journal.Phase
		final    bool
		meaning  worker.Meaning
		replayed bool
		wait     time.Duration
	}
	for _, row := range []struct {
		name   string
		c      worker.Classifier
		status int
		header http.Header
		body   string
		want   want
	}{
		{name: "R-02 504", status: 504, want: want{phase: sent, meaning: worker.MeaningServerError}},
		{name: "R-02 502", status: 502, want: want{phase: sent, meaning: worker.MeaningServerError}},
		{name: "R-02 408", status: 408, want: want{phase: sent, meaning: worker.MeaningServerError}},
		{name: "R-16 503 with retry-after is still unknown", status: 503, header: header("Retry-After", "7"), want: want{phase: sent, meaning: worker.MeaningServerError, wait: 7 * time.Second}},
		{name: "500", status: 500, want: want{phase: sent, meaning: worker.MeaningServerError}},
		{name: "R-16 429", status: 429, header: header("Retry-After", "2"), want: want{phase: refused, meaning: worker.MeaningRateLimited, wait: 2 * time.Second}},
		{name: "425", status: 425, want: want{phase: refused, meaning: worker.MeaningTooEarly}},
		{name: "400", status: 400, want: want{phase: refused, final: true, meaning: worker.MeaningRefused}},
		{name: "401", status: 401, want: want{phase: refused, final: true, meaning: worker.MeaningRefused}},
		{name: "403", status: 403, want: want{phase: refused, final: true, meaning: worker.MeaningRefused}},
		{name: "403 that is a rate limit", status: 403, header: header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "30"), want: want{phase: refused, meaning: worker.MeaningRateLimited, wait: 30 * time.Second}},
		{name: "404", status: 404, want: want{phase: refused, final: true, meaning: worker.MeaningRefused}},
		{name: "422", status: 422, want: want{phase: refused, final: true, meaning: worker.MeaningRefused}},
		{name: "412", status: 412, want: want{phase: refused, final: true, meaning: worker.MeaningRefused}},
		{name: "303 may follow success", status: 303, want: want{phase: sent, meaning: worker.MeaningUnclear}},
		{name: "307 asks for the same elsewhere", status: 307, want: want{phase: refused, final: true, meaning: worker.MeaningRefused}},
		{name: "R-11 key in progress, Stripe", status: 409, body: `{"error":{"code":"idempotency_key_in_use"}}`, want: want{phase: sent, meaning: worker.MeaningKeyInProgress}},
		{name: "R-11 key in progress, Resend", status: 409, body: `{"name":"concurrent_idempotent_requests"}`, want: want{phase: sent, meaning: worker.MeaningKeyInProgress}},
		{name: "R-12 repeat without the first answer", status: 409, body: `{"code":"KEY_REUSED","originalStatusCode":null}`, want: want{phase: sent, meaning: worker.MeaningSeenBefore, replayed: true}},
		{name: "R-12 key known with other content, on 400", status: 400, body: `{"error":{"type":"idempotency_error"}}`, want: want{phase: sent, meaning: worker.MeaningSeenBefore, replayed: true}},
		{name: "409 exists", status: 409, body: `{"error":{"code":409,"status":"ALREADY_EXISTS"}}`, want: want{phase: refused, final: true, meaning: worker.MeaningExists}},
		{name: "409 exists under our reference", c: worker.Classifier{ExistsIsOurs: true}, status: 409, body: `{"code":"already_exists"}`, want: want{phase: sent, meaning: worker.MeaningExists, replayed: true}},
		{name: "409 conflict that the tool knows", c: worker.Classifier{Codes: map[string]worker.Meaning{"version_conflict": worker.MeaningConflict}}, status: 409, body: `{"errors":[{"code":"version_conflict"}]}`, want: want{phase: refused, final: true, meaning: worker.MeaningConflict}},
		{name: "409 that tells nothing", status: 409, body: `conflict`, want: want{phase: sent, meaning: worker.MeaningUnclear}},
		{name: "R-15 replayed 500", status: 500, header: header("Idempotent-Replayed", "true"), want: want{phase: sent, meaning: worker.MeaningServerError, replayed: true}},
		{name: "R-15 replayed 400", status: 400, header: header("Idempotent-Replayed", "true"), want: want{phase: refused, final: true, meaning: worker.MeaningRefused, replayed: true}},
		{name: "R-15 replay header says no", status: 500, header: header("Idempotent-Replayed", "false"), want: want{phase: sent, meaning: worker.MeaningServerError}},
		{name: "R-15 Zendesk hit", status: 201, header: header("X-Idempotency-Lookup", "hit"), body: `{}`, want: want{phase: confirmed, meaning: worker.MeaningConfirmed, replayed: true}},
		{name: "200", status: 200, body: `{"id":7}`, want: want{phase: confirmed, meaning: worker.MeaningConfirmed}},
		{name: "204", status: 204, want: want{phase: confirmed, meaning: worker.MeaningConfirmed}},
		{name: "R-09 ok false", status: 200, body: `{"ok":false,"error":"invalid_auth"}`, want: want{phase: sent, meaning: worker.MeaningUnparsable}},
		{name: "R-09 ok false, vendor known", c: worker.Classifier{Parse: worker.ParseOK("fatal_error")}, status: 200, body: `{"ok":false,"error":"invalid_auth"}`, want: want{phase: refused, final: true, meaning: worker.MeaningBodySaysNo}},
		{name: "R-09 ok false after which something may be done", c: worker.Classifier{Parse: worker.ParseOK("fatal_error")}, status: 200, body: `{"ok":false,"error":"fatal_error"}`, want: want{phase: sent, meaning: worker.MeaningUnparsable}},
		{name: "R-09 error sentence", status: 200, body: `Something went wrong`, want: want{phase: sent, meaning: worker.MeaningUnparsable}},
		{name: "R-09 GraphQL errors", status: 200, body: `{"data":null,"errors":[{"message":"no"}]}`, want: want{phase: sent, meaning: worker.MeaningUnparsable}},
		{name: "GraphQL without errors", status: 200, body: `{"data":{"id":1},"errors":[]}`, want: want{phase: confirmed, meaning: worker.MeaningConfirmed}},
		{name: "the tool's own policy", c: worker.Classifier{Judge: func(r worker.Response) (worker.Verdict, bool) {
			return worker.Verdict{Phase: refused, Meaning: worker.MeaningTooEarly}, r.Header.Get("Transient-Error") == "true"
		}}, status: 500, header: header("Transient-Error", "true"), want: want{phase: refused, meaning: worker.MeaningTooEarly}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h := row.header
			if h == nil {
				h = http.Header{}
			}
			_, v := row.c.Classify(&worker.Response{Status: row.status, Header: h, Body: []byte(row.body)}, nil, sent)
			got := want{v.Phase, v.Final, v.Meaning, v.Replayed, v.RetryAfter}
			if diff := cmp.Diff(row.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if (v.Err(nil) == nil) != (v.Phase == confirmed) {
				t.Errorf("Err() = %v for phase %s", v.Err(nil), v.Phase)
			}
		})
	}
}

func TestClassify_NoAnswerFollowsThePhase(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ phase, want journal.Phase }{
		{journal.PhaseNotSent, journal.PhaseNotSent}, {journal.PhaseSent, journal.PhaseSent}, {"", journal.PhaseSent},
	} {
		if _, v := (worker.Classifier{}).Classify(nil, errors.New("reset"), row.phase); v.Phase != row.want {
			t.Errorf("phase %q: verdict %s, want %s", row.phase, v.Phase, row.want)
		}
	}
	for _, read := range []string{`{"id":`, `{"id":7}`, ``} {
		_, v := worker.Classifier{}.Classify(&worker.Response{Status: 200, Header: http.Header{}, Body: []byte(read)}, errors.New("cut"), journal.PhaseSent)
		if v.Phase != journal.PhaseSent {
			t.Errorf("a 2xx that broke off after %q: %s, want sent", read, v.Phase)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	const most = time.Hour
	for _, row := range []struct {
		name   string
		h      http.Header
		status int
		want   time.Duration
	}{
		{"missing", header(), 429, 0},
		{"seconds", header("Retry-After", "120"), 429, 2 * time.Minute},
		{"spaces", header("Retry-After", " 5 "), 429, 5 * time.Second},
		{"fraction", header("Retry-After", "0.25"), 429, 250 * time.Millisecond},
		{"zero", header("Retry-After", "0"), 429, 0},
		{"negative", header("Retry-After", "-30"), 429, 0},
		{"absurd", header("Retry-After", "99999999"), 429, most},
		{"more than any number", header("Retry-After", "1e999"), 429, most},
		{"not a number", header("Retry-After", "NaN"), 429, 0},
		{"words", header("Retry-After", "soon"), 429, 0},
		{"IMF-fixdate", header("Retry-After", "Mon, 30 Nov 2026 12:01:00 GMT"), 503, time.Minute},
		{"RFC 850 date", header("Retry-After", "Monday, 30-Nov-26 12:01:00 GMT"), 503, time.Minute},
		{"asctime date", header("Retry-After", "Mon Nov 30 12:01:00 2026"), 503, time.Minute},
		{"date that has passed", header("Retry-After", "Mon, 30 Nov 2026 11:00:00 GMT"), 503, 0},
		{"date far away", header("Retry-After", "Mon, 30 Nov 2099 11:00:00 GMT"), 503, most},
		{"date counted from the answer's own clock", header("Retry-After", "Mon, 30 Nov 2026 09:00:30 GMT", "Date", "Mon, 30 Nov 2026 09:00:00 GMT"), 503, 30 * time.Second},
		{"milliseconds win", header("Retry-After", "9", "Retry-After-Ms", "1500"), 429, 1500 * time.Millisecond},
		{"GitHub reset", header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1796040090"), 403, 90 * time.Second},
		{"reset from now", header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "12"), 429, 12 * time.Second},
		{"reset though something remains", header("X-RateLimit-Remaining", "5", "X-RateLimit-Reset", "12"), 429, 0},
		{"reset on another status", header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "12"), 500, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := worker.RetryAfter(row.h, row.status, now, most); got != row.want {
				t.Errorf("RetryAfter = %s, want %s", got, row.want)
			}
		})
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"1", "-1", "1e309", "NaN", "Mon, 30 Nov 2026 12:01:00 GMT", "", "\x00"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		h := http.Header{"Retry-After": {a}, "X-Ratelimit-Reset": {b}, "X-Ratelimit-Remaining": {"0"}, "Date": {b}}
		if d := worker.RetryAfter(h, 429, time.Unix(0, 0), time.Hour); d < 0 || d > time.Hour {
			t.Errorf("RetryAfter(%q, %q) = %s", a, b, d)
		}
	})
}

func FuzzClassify(f *testing.F) {
	f.Add(409, `{"error":{"code":"idempotency_key_in_use"}}`)
	f.Add(200, `{"ok":false}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		_, v := worker.Classifier{}.Classify(&worker.Response{Status: status, Header: http.Header{}, Body: []byte(body)}, nil, journal.PhaseSent)
		if v.Phase == journal.PhaseConfirmed && (status < 200 || status > 299) {
			t.Errorf("status %d was taken for a confirmation", status)
		}
		if v.Final && v.Phase != journal.PhaseRefused || v.Phase == journal.PhaseNotSent || v.Phase == "" {
			t.Errorf("impossible verdict %+v", v)
		}
	})
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		rand float64
		n    int
		want time.Duration
	}{
		{"first, middle", 0.5, 0, 50 * time.Millisecond},
		{"third, middle", 0.5, 2, 200 * time.Millisecond},
		{"capped", 0.999, 60, 999 * time.Millisecond},
		{"never a busy loop", 0, 3, 5 * time.Millisecond},
	} {
		b := worker.Backoff{Base: 100 * time.Millisecond, Cap: time.Second, Rand: func() float64 { return row.rand }}
		if got := b.Next(row.n); got != row.want {
			t.Errorf("%s: Next(%d) = %s, want %s", row.name, row.n, got, row.want)
		}
	}
}
