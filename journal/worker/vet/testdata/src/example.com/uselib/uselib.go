// Package uselib uses functions of other packages.
package uselib

import (
	"context"
	"net/http"

	"example.com/lib"
	"example.com/mailer"
	"github.com/google/uuid"
	"github.com/landedhq/landed/journal/worker"
	temporal "go.temporal.io/sdk/worker"
)

func made(ctx context.Context, w *worker.Worker) error {
	_, err := w.Do(ctx, worker.Call{Key: lib.Clean(lib.NewKey("a"))}) // want `the key is made by lib.NewKey \(uuid.NewString, a new id\)`
	return err
}

func wrapped(ctx context.Context, w *worker.Worker) error {
	return lib.Again(3, func() error {
		return lib.Do(ctx, w, uuid.NewString()) // want `the key is minted by uuid.NewString, a new id where the function at line 21 is retried: lib.Again calls again what it is given`
	})
}

func called(ctx context.Context, c *http.Client) error {
	for attempt := 0; attempt < 3; attempt++ {
		if err := lib.Charge(ctx, c, "https://api.example.com"); err == nil { // want `lib.Charge mints the Idempotency-Key header anew each time that it is called, and the loop at line 27 retries. Give it the key as an argument and mint that outside of the retry.`
			return nil
		}
	}
	return context.DeadlineExceeded
}

func register(t temporal.Worker) {
	t.RegisterActivity(lib.Charge) // want `lib.Charge mints the Idempotency-Key header anew each time that it is called, and it is retried: Temporal retries it as an activity`
}

func mail() error {
	if err := mailer.Metric("a@example.com"); err != nil {
		return err
	}
	return mailer.Mail("a@example.com") // want `mailer.Mail \(smtp.SendMail\) causes an effect without the journal`
}
