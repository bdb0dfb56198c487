package keys

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/landedhq/landed/journal/worker"
)

// A test mints what it likes: go test runs it once.
func TestDo(t *testing.T) {
	args := []byte(`{"idempotency_key":"k"}`)
	sum := sha256.Sum256(args)
	for _, key := range []string{uuid.NewString(), hex.EncodeToString(sum[:])} {
		if _, err := new(worker.Worker).Do(context.Background(), worker.Call{Key: key, Args: args}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := http.Post("https://api.example.com", "text/plain", nil); err != nil {
		t.Fatal(err)
	}
}

// What it mints inside of a retry is still wrong.
func TestRetry(t *testing.T) {
	for range 3 {
		if _, err := new(worker.Worker).Do(context.Background(), worker.Call{Key: uuid.NewString()}); err == nil { // want `the key is minted by uuid.NewString`
			return
		}
	}
}
