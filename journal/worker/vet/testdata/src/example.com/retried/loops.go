// Package retried mints keys inside of retries.
package retried

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
)

var errBusy = errors.New("busy")

type service struct{ w *worker.Worker }

func (s *service) counted(ctx context.Context) error {
	for attempt := 0; attempt < 3; attempt++ {
		if _, err := s.w.Do(ctx, worker.Call{Key: uuid.NewString()}); err == nil { // want `the key is minted by uuid.NewString, a new id where the loop at line 24 retries, so that every retry gets a new one. Mint it once outside of the retry`
			return nil
		}
	}
	return errBusy
}

func (s *service) variable(ctx context.Context) error {
	for {
		id := uuid.New() // want `the key is minted by uuid.New`
		key := "refund-" + id.String()
		_, err := s.w.Do(ctx, worker.Call{Key: key})
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		return nil
	}
}

func (s *service) condition(ctx context.Context) {
	err := errBusy
	for err != nil {
		call := worker.Call{Tool: "refund"}
		call.Key = xid.New().String() // want `the key is minted by xid.New`
		_, err = s.w.DoUntilSettled(ctx, call)
	}
}

func (s *service) pauses(ctx context.Context) {
	for _, pause := range []time.Duration{time.Second, time.Minute} {
		k := ulid.Make() // want `the key is minted by ulid.Make`
		if _, err := s.w.Do(ctx, worker.Call{Key: fmt.Sprintf("pay/%s", k)}); err == nil {
			break
		}
		time.Sleep(pause)
	}
}

func (s *service) bytes(ctx context.Context) error {
	for range 5 {
		var b [16]byte
		rand.Read(b[:]) // want `the key is minted by rand.Read, random numbers`
		switch _, err := s.w.Do(ctx, worker.Call{Key: hex.EncodeToString(b[:])}); {
		case err == nil:
			return nil
		case errors.Is(err, context.Canceled):
			return err
		}
	}
	return errBusy
}

func (s *service) moment(ctx context.Context) error {
	for range 5 {
		_, err := s.w.Do(ctx, worker.Call{
			Run:  worker.Run{RootRun: "run-7"},
			Step: "pay-" + time.Now().Format(time.RFC3339), // want `Step, a part of the key, is minted by time.Now, the present time`
		})
		if err != nil {
			continue
		}
		return nil
	}
	return errBusy
}

// helper makes a new key: that it does is known where it is called.
func newKey(prefix string) string { return prefix + journal.NewID(time.Now()) }

func (s *service) helped(ctx context.Context) error {
	for range 5 {
		key := newKey("pay-") // want `the key is minted by retried.newKey \(journal.NewID, a new id\)`
		if _, err := s.w.Do(ctx, worker.Call{Key: key}); err == nil {
			return nil
		}
	}
	return errBusy
}

// do is what a team wraps around Do: its key becomes the key.
func (s *service) do(ctx context.Context, key string, args []byte) error {
	_, err := s.w.Do(ctx, worker.Call{Key: key, Args: args})
	return err
}

func (s *service) wrapped(ctx context.Context) error {
	for range 5 {
		if err := s.do(ctx, uuid.NewString(), nil); err == nil { // want `the key is minted by uuid.NewString`
			return nil
		}
	}
	return errBusy
}

func (s *service) once(ctx context.Context) error {
	_, err := s.w.Do(ctx, worker.Call{Key: uuid.NewString()}) // want `the key is minted by uuid.NewString, a new id where service.once, which is called where the loop at line \d+ retries`
	return err
}

func (s *service) outer(ctx context.Context) error {
	for range 5 {
		if err := s.once(ctx); err == nil {
			return nil
		}
	}
	return errBusy
}

func (s *service) counter(ctx context.Context, order string) error {
	for attempt := range 3 {
		key := fmt.Sprintf("refund-%s-%d", order, attempt) // want `the key counts attempts \(attempt\)`
		if _, err := s.w.Do(ctx, worker.Call{Key: key}); err == nil {
			return nil
		}
	}
	return errBusy
}

func (s *service) derived(ctx context.Context, order string) error {
	for range 3 {
		key, err := journal.DeriveKey("run-7", "pay", "refund", uuid.NewString()) // want `is minted by uuid.NewString, a new id where the loop`
		if err != nil {
			return err
		}
		if _, err := s.w.Do(ctx, worker.Call{Key: key}); err == nil {
			return nil
		}
	}
	return errBusy
}
