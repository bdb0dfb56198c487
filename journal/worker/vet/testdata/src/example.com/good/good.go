// Package good keeps its keys: nothing here is a finding.
package good

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/google/uuid"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/riverqueue/river"
	"go.temporal.io/sdk/workflow"
)

type store interface {
	Load(ctx context.Context, id string) (string, error)
	Save(ctx context.Context, id, key string) error
	Insert(ctx context.Context, row *row) error
	GetOrCreate(ctx context.Context, id, fresh string) (string, error)
}

type row struct{ ID, Key string }

type service struct {
	w  *worker.Worker
	db store
}

// A key that is passed in.
func (s *service) passedIn(ctx context.Context, key string) error {
	for attempt := 0; attempt < 3; attempt++ {
		if _, err := s.w.Do(ctx, worker.Call{Key: key}); err == nil {
			return nil
		}
	}
	return context.DeadlineExceeded
}

// A key of the job.
type job struct{ RunID, OrderID, Key string }

func (s *service) Work(ctx context.Context, j *river.Job[job]) error {
	_, err := s.w.Do(ctx, worker.Call{Key: fmt.Sprintf("job-%d/refund/%s", j.ID, j.Args.OrderID)})
	if err != nil {
		return err
	}
	_, err = s.w.Do(ctx, worker.Call{Key: j.Args.Key})
	return err
}

// A key of root run, step and item; J-05: one per recipient.
func (s *service) derived(ctx context.Context, run worker.Run, recipients []string) error {
	for _, id := range recipients {
		if _, err := s.w.Do(ctx, worker.Call{Run: run, Tool: "mail", Step: "welcome", Item: id}); err != nil {
			return err
		}
	}
	return nil
}

// A key that is stored before the retry begins.
func (s *service) stored(ctx context.Context, id string) error {
	key := uuid.NewString()
	if err := s.db.Save(ctx, id, key); err != nil {
		return err
	}
	for range 3 {
		if _, err := s.w.Do(ctx, worker.Call{Key: key}); err == nil {
			return nil
		}
	}
	return context.DeadlineExceeded
}

// A key that is stored inside of a row.
func (s *service) inRow(ctx context.Context, id string) error {
	r := &row{ID: id, Key: uuid.NewString()}
	if err := s.db.Insert(ctx, r); err != nil {
		return err
	}
	_, err := s.w.Do(ctx, worker.Call{Key: r.Key})
	return err
}

type (
	finder  service
	creator service
)

// A key that is minted only if none was stored, in a job that is tried again.
func (s *finder) Work(ctx context.Context, j *river.Job[job]) error {
	key, err := s.db.Load(ctx, j.Args.OrderID)
	if err != nil {
		return err
	}
	if key == "" {
		key = uuid.NewString()
		if err := s.db.Save(ctx, j.Args.OrderID, key); err != nil {
			return err
		}
	}
	_, err = s.w.Do(ctx, worker.Call{Key: key})
	return err
}

func (s *creator) Work(ctx context.Context, j *river.Job[job]) error {
	key, err := s.db.GetOrCreate(ctx, j.Args.OrderID, uuid.NewString())
	if err != nil {
		return err
	}
	_, err = s.w.Do(ctx, worker.Call{Key: key})
	return err
}

// Temporal records what a SideEffect returns.
func (s *service) flow(ctx workflow.Context) error {
	var key string
	if err := workflow.SideEffect(ctx, func(workflow.Context) any { return uuid.NewString() }).Get(&key); err != nil {
		return err
	}
	_, err := s.w.Do(context.Background(), worker.Call{Key: key})
	return err
}

// DBOS records what a step returns.
func (s *service) steps(ctx dbos.Context, order string) (worker.Answer, error) {
	key, err := dbos.RunAsStep(ctx, func(context.Context) (string, error) { return uuid.NewString(), nil })
	if err != nil {
		return worker.Answer{}, err
	}
	return s.w.Do(ctx, worker.Call{Key: key})
}

// A date names a report, and a fixed moment is no present one.
func (s *service) daily(ctx context.Context, due time.Time) error {
	if _, err := s.w.Do(ctx, worker.Call{Key: "report/" + time.Now().Format(time.DateOnly)}); err != nil {
		return err
	}
	if _, err := s.w.Do(ctx, worker.Call{Key: fmt.Sprint("week/", time.Now().Truncate(7*24*time.Hour).Unix())}); err != nil {
		return err
	}
	_, err := s.w.Do(ctx, worker.Call{Key: "due/" + due.Format(time.RFC3339)})
	return err
}

// An id of given bytes is always the same one.
func (s *service) named(ctx context.Context, order string) error {
	key := uuid.NewSHA1(uuid.Nil, []byte(order)).String()
	_, err := s.w.Do(ctx, worker.Call{Key: key})
	return err
}

type refund struct{ Order, Note string }

// A business object from among the arguments is what a key is for, also hashed.
func (s *service) object(ctx context.Context, in refund) error {
	args, err := json.Marshal(in)
	if err != nil {
		return err
	}
	if _, err := s.w.Do(ctx, worker.Call{Key: "refund-" + in.Order, Args: args}); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(in.Order))
	_, err = s.w.Do(ctx, worker.Call{Key: hex.EncodeToString(sum[:]), Args: args})
	return err
}

func (s *service) mapped(ctx context.Context, order, note string) error {
	args, err := json.Marshal(map[string]string{"order": order, "note": note})
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(order))
	_, err = s.w.Do(ctx, worker.Call{Run: worker.Run{RootRun: "run-7"}, Step: "refund", Item: hex.EncodeToString(sum[:]), Args: args})
	return err
}

// What is no key may be new: a subject, a claim, the arguments.
func (s *service) others(ctx context.Context, run string) error {
	for range 3 {
		args, err := json.Marshal(map[string]any{"sent_at": time.Now()})
		if err != nil {
			return err
		}
		if _, err := s.w.Do(ctx, worker.Call{Run: worker.Run{RootRun: run, Run: uuid.NewString()}, Step: "mail", Subject: uuid.NewString(), Args: args}); err == nil {
			return nil
		}
	}
	return context.DeadlineExceeded
}

// Each of many things once is no retry: the loop ends with the first error.
func (s *service) each(ctx context.Context, db store, ids []string) error {
	for i := 0; i < len(ids); i++ {
		key := uuid.NewString()
		if err := db.Save(ctx, ids[i], key); err != nil {
			return err
		}
		if _, err := s.w.Do(ctx, worker.Call{Key: key}); err != nil {
			return err
		}
	}
	return nil
}

// A step is no part of a key that is given, and may be anything.
func (s *service) given(ctx context.Context, key string) error {
	_, err := s.w.Do(ctx, worker.Call{Key: key, Step: uuid.NewString()})
	return err
}

// One provider after the other, each under a key of its own, is no retry.
func mirrors(ctx context.Context, c *http.Client, urls []string) error {
	for _, url := range urls {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Idempotency-Key", uuid.NewString())
		if _, err := c.Do(req); err == nil {
			return nil
		}
	}
	return context.DeadlineExceeded
}

// A provider's key minted before the retry.
func header(ctx context.Context, c *http.Client, url string) error {
	key := uuid.NewString()
	_, err := backoff.Retry(ctx, func() (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Idempotency-Key", key)
		return c.Do(req) //landed:unjournaled the provider honours the key
	})
	return err
}

// One request, nothing that tries again: the caller's business.
func single(ctx context.Context, url string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Idempotency-Key", uuid.NewString())
	return req, nil
}

// The key's parts from elsewhere.
func (s *service) made(ctx context.Context, run, order string) error {
	key, err := journal.DeriveKey(run, "refund", "refund", order)
	if err != nil {
		return err
	}
	_, err = s.w.Do(ctx, worker.Call{Key: key})
	return err
}
