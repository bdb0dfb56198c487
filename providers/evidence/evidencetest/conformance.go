// Package evidencetest is the conformance suite that every evidence adapter
// passes, with the little that a fixture needs. It owns no provider: each
// adapter's tests bring a Fixture over their own fake or real server. It is for
// tests only.
package evidencetest

import (
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

// Breakage is a way in which a provider fails.
type Breakage string

// The breakages that a Fixture shows.
const (
	BreakAuth    Breakage = "auth"    // credentials are refused
	BreakDown    Breakage = "down"    // no server, 5xx, or closed midway
	BreakHang    Breakage = "hang"    // the connection is taken, no answer ever comes
	BreakGarbage Breakage = "garbage" // answers that no client can understand
)

// Fixture is one provider with one account, as an adapter's tests set it up.
// Every field is required. Functions end the test themselves when they fail.
type Fixture struct {
	// Open returns an adapter for the healthy provider.
	Open func(t *testing.T) evidence.Adapter
	// Put plants one object that took effect now and whose carrier (header,
	// custom field, metadata) says carrier. The suite passes a reference, twice
	// the same one for a duplicate, and near-misses that only resemble one.
	Put func(t *testing.T, carrier string)
	// Break returns an adapter for a provider that fails in this way, with the
	// same secrets. It may be a second server.
	Break func(t *testing.T, b Breakage) evidence.Adapter
	// Requests counts what the healthy provider was asked so far: requests, lines
	// or bytes. Tap can count for a server that doesn't.
	Requests func() int64
	// ReadOnly fails the test if what adapters did so far altered anything, or
	// used a request that could have. It runs after everything else.
	ReadOnly func(t *testing.T)
	// Secrets are the password, token or key strings that must never show.
	Secrets []string
	// Prompt is how soon a cancelled look must return; 0 = 5 s.
	Prompt time.Duration
}

// Conformance checks what the contract of package evidence asks of an adapter.
// The fixture must hold no object with a reference of ours; its provider must
// show what was put at once.
func Conformance(t *testing.T, f Fixture) {
	t.Helper()
	s := &suite{f: f}
	if s.f.Prompt == 0 {
		s.f.Prompt = 5 * time.Second
	}
	if len(f.Secrets) == 0 {
		t.Fatal("the fixture names no secrets: the suite can't prove that they stay hidden")
	}
	for _, c := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"sheet is complete and needs no I/O", s.sheet},
		{"unknown reference is not found, all pages read", s.unknown},
		{"one object is found once", s.once},
		{"two objects are two matches (T-06)", s.twice},
		{"near misses are no matches (T-03)", s.nearMisses},
		{"invalid reference is refused before any I/O (M-14, T-04)", s.invalidRef},
		{"one session answers query after query", s.sequence},
		{"sessions at the same time", s.concurrent},
		{"cancelled context returns promptly", s.cancelled},
		{"hanging provider ends with the context", s.hang},
		{"refused credentials", s.auth},
		{"provider that is down", s.down},
		{"provider that answers garbage", s.garbage},
		{"read only (X-04)", f.ReadOnly},
	} {
		t.Run(c.name, c.run)
	}
}

type suite struct{ f Fixture }

// query asks for ref in a window around now.
func query(ref string) evidence.Query {
	now := time.Now()
	return evidence.Query{Ref: ref, From: now.Add(-10 * time.Minute), To: now.Add(10 * time.Minute)}
}

// find opens a session, asks once and closes it.
func (s *suite) find(t *testing.T, ref string) evidence.Answer {
	t.Helper()
	sess := s.session(t)
	a, err := sess.Find(t.Context(), query(ref))
	if err != nil {
		t.Fatalf("Find: %v", err)
	}
	s.checkAnswer(t, a)
	if err := sess.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	return a
}

func (s *suite) session(t *testing.T) evidence.Session {
	t.Helper()
	sess, err := s.f.Open(t).Session(t.Context())
	if err != nil {
		t.Fatalf("Session: %v", err)
	}
	return sess
}

func (s *suite) sheet(t *testing.T) {
	before := s.f.Requests()
	sh := s.f.Open(t).Sheet()
	if n := s.f.Requests() - before; n != 0 {
		t.Errorf("Open and Sheet asked the provider (%d)", n)
	}
	if sh.Kind == "" || sh.Version == "" || sh.Class == "" || len(sh.Scopes) == 0 {
		t.Errorf("kind, version, class and scopes must be set: %+v", sh)
	}
	if sh.Mode != "live" && sh.Mode != "test" {
		t.Errorf("mode is %q, want live or test", sh.Mode)
	}
	if sh.Conclusive != (sh.InconclusiveWhy == "") {
		t.Errorf("InconclusiveWhy must be set exactly when Conclusive is false: %+v", sh)
	}
}

func (s *suite) unknown(t *testing.T) {
	a := s.find(t, journal.RandomRef())
	if len(a.Matches) != 0 || !a.AllPagesRead {
		t.Errorf("matches %d, all pages read %v; want 0, true", len(a.Matches), a.AllPagesRead)
	}
	seen := false
	for _, sc := range a.Scopes {
		seen = seen || sc.Seen
	}
	if !seen {
		t.Errorf("no scope was seen: %+v", a.Scopes)
	}
}

func (s *suite) once(t *testing.T) {
	ref := journal.RandomRef()
	s.f.Put(t, ref)
	s.f.Put(t, journal.RandomRef()) // another effect of the same account
	a := s.find(t, ref)
	if len(a.Matches) != 1 || !a.AllPagesRead {
		t.Fatalf("matches %d, all pages read %v; want 1, true", len(a.Matches), a.AllPagesRead)
	}
	m := a.Matches[0]
	if m.State != journal.MatchEffective {
		t.Errorf("state %q, want %q", m.State, journal.MatchEffective)
	}
	if m.ID == "" || m.Where == "" || m.Carrier == "" {
		t.Errorf("id, where and carrier must be set: %+v", m)
	}
	if m.At.IsZero() || time.Since(m.At).Abs() > time.Hour {
		t.Errorf("at is %v, want about now", m.At)
	}
	// Built from the configured address: http only where that is a test server's.
	if m.URL != "" && !strings.HasPrefix(m.URL, "https://") && !strings.HasPrefix(m.URL, "http://127.0.0.1:") {
		t.Errorf("url %q is not https", m.URL)
	}
}

func (s *suite) twice(t *testing.T) {
	ref := journal.RandomRef()
	s.f.Put(t, ref)
	s.f.Put(t, ref)
	a := s.find(t, ref)
	if len(a.Matches) != 2 {
		t.Fatalf("matches %d, want 2", len(a.Matches))
	}
	if a.Matches[0].ID == a.Matches[1].ID {
		t.Errorf("both matches have id %q", a.Matches[0].ID)
	}
}

func (s *suite) nearMisses(t *testing.T) {
	ref := journal.RandomRef()
	for _, carrier := range []string{
		ref + "0a", "f" + ref, "x-" + ref + "-x", strings.ToUpper(ref), ref[:31], journal.RandomRef(),
	} {
		s.f.Put(t, carrier)
	}
	a := s.find(t, ref)
	if len(a.Matches) != 0 || !a.AllPagesRead {
		t.Errorf("matches %d, all pages read %v; want 0, true: %+v", len(a.Matches), a.AllPagesRead, a.Matches)
	}
	s.f.Put(t, ref) // among its near misses it is found alone
	if a := s.find(t, ref); len(a.Matches) != 1 {
		t.Errorf("with the object itself: matches %d, want 1", len(a.Matches))
	}
}

func (s *suite) invalidRef(t *testing.T) {
	ref := journal.RandomRef()
	sess := s.session(t)
	defer sess.Close()
	before := s.f.Requests()
	for _, bad := range []string{
		"", " ", ref[:31], ref + "a", strings.ToUpper(ref), journal.Dashed(ref), ref + "\n", ref + "\x00",
		ref[:30] + "\r\n", ref[:20] + "' OR '1'='1x", "%" + ref[:31], "\"\r\nX1 STORE 1:* +FLAGS (\\Deleted)\r\nX2 EXPUNGE",
		"50%", "a:b -status:open", "名前", `a\b`,
	} {
		if a, err := sess.Find(t.Context(), query(bad)); err == nil {
			t.Errorf("Find(%q) = %+v, want an error", bad, a)
		}
	}
	if n := s.f.Requests() - before; n != 0 {
		t.Errorf("invalid references reached the provider (%d)", n)
	}
	s.f.Put(t, ref)
	if a, err := sess.Find(t.Context(), query(ref)); err != nil || len(a.Matches) != 1 {
		t.Errorf("after a refused reference the session must still answer: %d matches, %v", len(a.Matches), err)
	}
}

// sequence is what Ask does: the reference, a fresh one, a known one.
func (s *suite) sequence(t *testing.T) {
	known, later := journal.RandomRef(), journal.RandomRef()
	s.f.Put(t, known)
	sess := s.session(t)
	defer sess.Close()
	ask := func(ref string, want int) {
		t.Helper()
		a, err := sess.Find(t.Context(), query(ref))
		if err != nil {
			t.Fatalf("Find: %v", err)
		}
		s.checkAnswer(t, a)
		if len(a.Matches) != want {
			t.Errorf("matches %d, want %d", len(a.Matches), want)
		}
	}
	ask(later, 0)
	ask(journal.RandomRef(), 0)
	ask(known, 1)
	s.f.Put(t, later) // a session must not remember an old empty answer
	ask(later, 1)
}
