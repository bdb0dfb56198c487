package evidencetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

func (s *suite) concurrent(t *testing.T) {
	ref := journal.RandomRef()
	s.f.Put(t, ref)
	a := s.f.Open(t)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := lookOnce(t.Context(), a, ref); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// lookOnce fails unless a finds exactly one object with ref.
func lookOnce(ctx context.Context, a evidence.Adapter, ref string) error {
	sess, err := a.Session(ctx)
	if err != nil {
		return fmt.Errorf("opening a session: %w", err)
	}
	defer sess.Close()
	ans, err := sess.Find(ctx, query(ref))
	if err != nil {
		return fmt.Errorf("looking up: %w", err)
	}
	if len(ans.Matches) != 1 {
		return fmt.Errorf("matches %d, want 1", len(ans.Matches))
	}
	return nil
}

func (s *suite) cancelled(t *testing.T) {
	sess := s.session(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	if a, err := sess.Find(ctx, query(journal.RandomRef())); err == nil {
		t.Errorf("Find under a cancelled context = %+v, want an error", a)
	}
	_ = sess.Close() // what it closes is broken by the cancellation; only its promptness counts
	if _, err := s.f.Open(t).Session(ctx); err == nil {
		// Opening may be free of I/O: then there is nothing to cancel.
		t.Log("Session does no I/O")
	}
	s.checkPrompt(t, start)
}

func (s *suite) hang(t *testing.T) {
	a := s.f.Break(t, BreakHang)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	err := s.broken(ctx, t, a)
	s.checkPrompt(t, start)
	if ctx.Err() == nil {
		t.Errorf("it gave up by itself before the context ended: %v", err)
	}
}

func (s *suite) auth(t *testing.T) {
	err := s.broken(t.Context(), t, s.f.Break(t, BreakAuth))
	var pe *evidence.ProviderError
	if !errors.As(err, &pe) || pe.Kind != evidence.FaultAuth && pe.Kind != evidence.FaultForbidden {
		t.Errorf("error %v, want a ProviderError of kind auth or forbidden", err)
	}
}

func (s *suite) down(t *testing.T) {
	err := s.broken(t.Context(), t, s.f.Break(t, BreakDown))
	var pe *evidence.ProviderError
	if errors.As(err, &pe) && pe.Kind != evidence.FaultUnavailable && pe.Kind != evidence.FaultRateLimited {
		t.Errorf("kind %q, want unavailable or rate_limited (or a plain error)", pe.Kind)
	}
}

func (s *suite) garbage(t *testing.T) {
	err := s.broken(t.Context(), t, s.f.Break(t, BreakGarbage))
	var pe *evidence.ProviderError
	if errors.As(err, &pe) && (pe.Kind == evidence.FaultAuth || pe.Kind == evidence.FaultForbidden) {
		t.Errorf("kind %q for an answer that nobody can understand", pe.Kind)
	}
}

// broken looks once at a broken provider and returns the error. An answer that
// reads as "not there" is the worst defect that an adapter can have.
func (s *suite) broken(ctx context.Context, t *testing.T, a evidence.Adapter) error {
	t.Helper()
	sess, err := a.Session(ctx)
	if err == nil {
		var ans evidence.Answer
		ans, err = sess.Find(ctx, query(journal.RandomRef()))
		s.checkAnswer(t, ans)
		_ = sess.Close() // a broken connection can't be closed in good order
	}
	if err == nil {
		t.Fatal("a broken provider gave an answer, want an error")
	}
	s.checkError(t, err)
	return err
}

func (s *suite) checkPrompt(t *testing.T, start time.Time) {
	t.Helper()
	if d := time.Since(start); d > s.f.Prompt {
		t.Errorf("took %v, want at most %v", d, s.f.Prompt)
	}
}

func (s *suite) checkError(t *testing.T, err error) {
	t.Helper()
	for e := err; e != nil; e = errors.Unwrap(e) {
		s.checkHidden(t, "error", fmt.Sprintf("%v\n%+v", e, e))
	}
	var pe *evidence.ProviderError
	if !errors.As(err, &pe) {
		return
	}
	if pe.Detail == "" {
		t.Error("a ProviderError without detail")
	}
	s.checkHidden(t, "detail", pe.Detail)
	s.checkExchanges(t, pe.Exchanges)
}

func (s *suite) checkAnswer(t *testing.T, a evidence.Answer) {
	t.Helper()
	s.checkExchanges(t, a.Exchanges)
	s.checkHidden(t, "matches and scopes", fmt.Sprintf("%+v %+v", a.Matches, a.Scopes))
}

func (s *suite) checkExchanges(t *testing.T, xs []journal.Exchange) {
	t.Helper()
	const room = 64 // for the note that says how much was cut
	for _, x := range xs {
		for _, text := range []string{x.Request, x.Response} {
			s.checkHidden(t, "exchange", text)
			if len(text) > evidence.MaxExchangeBytes+room {
				t.Errorf("an exchange of %d bytes is over the cap", len(text))
			}
			if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				t.Errorf("an exchange can't be stored: %q", text)
			}
		}
	}
}

func (s *suite) checkHidden(t *testing.T, where, text string) {
	t.Helper()
	for _, secret := range s.f.Secrets {
		if strings.Contains(text, secret) {
			t.Errorf("a secret shows in %s", where)
		}
	}
}
