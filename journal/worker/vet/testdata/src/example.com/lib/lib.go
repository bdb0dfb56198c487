// Package lib is used by others of its module.
package lib

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"github.com/landedhq/landed/journal/worker"
)

// NewKey makes a new one.
func NewKey(prefix string) string { // want NewKey:`result 0 is of parameter 0; result 0 is uuid.NewString, a new id`
	return prefix + uuid.NewString()
}

// Clean gives back what it is given.
func Clean(key string) string { return strings.ToLower(key) } // want Clean:`result 0 is of parameter 0`

// Do executes an effect under the given key.
func Do(ctx context.Context, w *worker.Worker, key string) error { // want Do:`parameter 2 is the key`
	_, err := w.Do(ctx, worker.Call{Key: key})
	return err
}

// Again calls f until it succeeds.
func Again(n int, f func() error) error { // want Again:`retries parameter 1`
	for range n {
		if err := f(); err == nil {
			return nil
		}
	}
	return context.DeadlineExceeded
}

// Charge mints a provider's key.
func Charge(ctx context.Context, c *http.Client, url string) error { // want Charge:`mints the Idempotency-Key header`
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Idempotency-Key", uuid.NewString())
	_, err = c.Do(req)
	return err
}
