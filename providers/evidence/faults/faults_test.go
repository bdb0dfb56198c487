package faults_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/egress"
	"github.com/landedhq/landed/providers/evidence/faults"
)

func TestTransport(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		err    error
		want   evidence.FaultKind
		detail string
	}{
		{egress.ErrTooLarge, evidence.FaultTooLarge, "larger"},
		{egress.ErrRedirect, evidence.FaultBadAnswer, "another server"},
		{egress.ErrEncoding, evidence.FaultBadAnswer, "packed"},
		{egress.ErrHost, evidence.FaultRefused, "not allowed"},
		{egress.ErrAddress, evidence.FaultUnavailable, "allow_private"},
		{context.DeadlineExceeded, evidence.FaultUnavailable, "in time"},
		{context.Canceled, evidence.FaultUnavailable, "cancelled"},
		{errors.New("reset"), evidence.FaultUnavailable, "did not answer"},
	} {
		t.Run(row.err.Error(), func(t *testing.T) {
			t.Parallel()
			var pe *evidence.ProviderError
			err := faults.Transport(&url.Error{Op: "Get", URL: "https://x.example/?key=s3cret", Err: row.err}, "The shop")
			if !errors.As(err, &pe) || pe.Kind != row.want || !strings.Contains(pe.Detail, row.detail) || !errors.Is(err, row.err) || strings.Contains(pe.Err.Error(), "s3cret") {
				t.Errorf("fault %+v, want %s %q", pe, row.want, row.detail)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]evidence.FaultKind{
		302: evidence.FaultBadAnswer, 204: evidence.FaultBadAnswer, 400: evidence.FaultRefused, 401: evidence.FaultAuth, 403: evidence.FaultForbidden,
		404: evidence.FaultRefused, 410: evidence.FaultRefused, 408: evidence.FaultUnavailable, 429: evidence.FaultRateLimited, 503: evidence.FaultUnavailable,
	} {
		pe := faults.Status(&http.Response{StatusCode: code, Header: http.Header{"Retry-After": {"3"}}}, "The shop")
		if pe.Kind != want || pe.Detail == "" || pe.RetryAfter != 3*time.Second {
			t.Errorf("%d: fault %+v, want %s", code, pe, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "0.5": 500 * time.Millisecond, "-1": 0, "soon": 0, "1e300": 24 * time.Hour, "NaN": 0,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0, now.Add(72 * time.Hour).Format(http.TimeFormat): 24 * time.Hour,
	} {
		if got := faults.RetryAfter(http.Header{"Retry-After": {v}}, now); got != want {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
	}
}
