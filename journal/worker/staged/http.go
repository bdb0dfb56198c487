package staged

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// Once returns a client like c that follows no redirect: the answer to a request
// that changes things is the provider's, or none. nil = http.DefaultClient.
func Once(c *http.Client) *http.Client {
	if c == nil {
		c = http.DefaultClient
	}
	once := *c
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &once
}

// Request is one request of a step. net/http can't send its body twice: it would
// repeat a request with an Idempotency-Key on a broken connection. (One without a
// body it still does; a provider that takes such a key honours it.) An error proves
// that nothing was sent.
func Request(ctx context.Context, method, url string, header http.Header, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, worker.NotSent(err)
	}
	for name, values := range header {
		req.Header[name] = append([]string(nil), values...)
	}
	req.GetBody = nil
	return req, nil
}

// Get reads one object by its id into v. It returns false if the provider says
// that there is none (404 or 410); any answer but that and JSON under a 2xx is an
// error.
func Get(ctx context.Context, c *http.Client, url string, header http.Header, v any) (bool, error) {
	req, err := Request(ctx, http.MethodGet, url, header, nil)
	if err != nil {
		return false, err
	}
	missing := false
	_, err = worker.Classifier{
		Judge: func(r worker.Response) (worker.Verdict, bool) {
			missing = r.Status == http.StatusNotFound || r.Status == http.StatusGone
			return worker.Verdict{Phase: journal.PhaseRefused, Final: true, Meaning: worker.MeaningRefused}, missing
		},
		Parse: func(r worker.Response) (worker.Outcome, error) {
			if err := json.Unmarshal(r.Body, v); err != nil {
				return worker.Outcome{}, fmt.Errorf("the answer can't be understood: %w", err)
			}
			return worker.Outcome{}, nil
		},
	}.Send(Once(c), req)
	if missing {
		return false, nil
	}
	return err == nil, err
}
