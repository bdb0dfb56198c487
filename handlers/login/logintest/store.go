package logintest

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"
)

// Clock is a clock that tests turn.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts at the present second, so that tokens look fresh to everybody.
func NewClock() *Clock { return &Clock{now: time.Now().Truncate(time.Second)} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Add turns the clock.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Sessions is a login.SessionStore in memory.
type Sessions struct {
	now func() time.Time

	mu      sync.Mutex
	rows    map[string]row
	touches int
	saves   int
	fail    error
}

type row struct {
	data          []byte
	seen, expires time.Time
}

// NewSessions makes an empty store; now may be nil.
func NewSessions(now func() time.Time) *Sessions {
	if now == nil {
		now = time.Now
	}
	return &Sessions{now: now, rows: map[string]row{}}
}

// Fail makes every call return err until it is nil again.
func (s *Sessions) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

// Save adds a row.
func (s *Sessions) Save(_ context.Context, hash, data []byte, expires time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	if _, ok := s.rows[string(hash)]; ok {
		return errors.New("the hash has a row already")
	}
	s.rows[string(hash)] = row{data: bytes.Clone(data), seen: s.now(), expires: expires}
	s.saves++
	return nil
}

// Load returns a row.
func (s *Sessions) Load(_ context.Context, hash []byte) ([]byte, time.Time, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return nil, time.Time{}, time.Time{}, s.fail
	}
	r, ok := s.rows[string(hash)]
	if !ok {
		return nil, time.Time{}, time.Time{}, nil
	}
	return bytes.Clone(r.data), r.seen, r.expires, nil
}

// Touch marks a row as seen.
func (s *Sessions) Touch(_ context.Context, hash []byte, seen time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	if r, ok := s.rows[string(hash)]; ok {
		r.seen = seen
		s.rows[string(hash)] = r
		s.touches++
	}
	return nil
}

// Delete ends a row.
func (s *Sessions) Delete(_ context.Context, hash []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	delete(s.rows, string(hash))
	return nil
}

// Writes counts rows added and touched.
func (s *Sessions) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.touches + s.saves
}

// Holds reports whether any stored byte sequence contains text: tokens must not.
func (s *Sessions) Holds(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, r := range s.rows {
		if bytes.Contains(r.data, []byte(text)) || bytes.Contains([]byte(k), []byte(text)) {
			return true
		}
	}
	return false
}

// Len counts the rows, markers of used sign-ins included.
func (s *Sessions) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rows)
}
