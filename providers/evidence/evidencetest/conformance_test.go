package evidencetest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/evidencetest"
)

const secret = "s3cret-Token"

// memory is a provider and its adapter in one; defect makes it wrong.
type memory struct {
	defect string
	broken evidencetest.Breakage

	mu       sync.Mutex
	objects  []string
	requests atomic.Int64
	writes   atomic.Int64
}

func (m *memory) Sheet() evidence.Sheet {
	if m.defect == "sheet does I/O" {
		m.requests.Add(1)
	}
	return evidence.Sheet{Kind: "memory", Version: "1", Class: evidence.L1, Scopes: []string{"all"}, Mode: "test", Conclusive: m.defect != "no reason"}
}

func (m *memory) Session(context.Context) (evidence.Session, error) {
	return &memorySession{memory: m}, nil
}

type memorySession struct {
	*memory
	cached *evidence.Answer
}

func (*memorySession) Close() error { return nil }

func (s *memorySession) Find(ctx context.Context, q evidence.Query) (evidence.Answer, error) {
	if !journal.ValidRef(q.Ref) && s.defect != "takes any reference" {
		return evidence.Answer{}, errors.New("bad reference")
	}
	if err := ctx.Err(); err != nil && s.defect != "ignores cancellation" {
		return evidence.Answer{}, err
	}
	if s.broken != "" && s.defect != "broken reads as empty" {
		return evidence.Answer{}, s.fail(ctx)
	}
	s.requests.Add(1)
	if s.defect == "writes" {
		s.writes.Add(1)
	}
	if s.cached != nil && s.defect == "remembers" {
		return *s.cached, nil
	}
	a := s.read(q.Ref)
	s.cached = &a
	return a, nil
}

func (s *memorySession) fail(ctx context.Context) error {
	pe := &evidence.ProviderError{Kind: evidence.FaultUnavailable, Detail: "broken"}
	switch s.broken {
	case evidencetest.BreakAuth:
		if pe.Kind = evidence.FaultAuth; s.defect == "auth as unavailable" {
			pe.Kind = evidence.FaultUnavailable
		}
	case evidencetest.BreakGarbage:
		pe.Kind = evidence.FaultBadAnswer
	case evidencetest.BreakHang:
		if s.defect != "gives up early" {
			<-ctx.Done()
		}
	}
	if s.defect == "error shows the secret" {
		pe.Err = fmt.Errorf("with %s", secret)
	}
	return pe
}

func (s *memorySession) read(ref string) evidence.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := evidence.Answer{
		AllPagesRead: s.defect != "never complete",
		Scopes:       []journal.Scope{{Name: "all", Seen: s.defect != "sees nothing"}},
		Exchanges:    []journal.Exchange{{Request: "read"}},
	}
	if s.defect == "transcript shows the secret" {
		a.Exchanges[0].Request += " with " + secret
	}
	for i, o := range s.objects {
		hit := o == ref
		switch s.defect {
		case "substring match":
			hit = strings.Contains(o, ref)
		case "case is folded":
			hit = strings.EqualFold(o, ref)
		case "finds nothing":
			hit = false
		}
		if hit {
			a.Matches = append(a.Matches, journal.Match{
				ID: fmt.Sprint(i), State: journal.MatchEffective, Where: "all", Carrier: "field", At: time.Now(),
			})
		}
	}
	if s.defect == "first match only" && len(a.Matches) > 1 {
		a.Matches = a.Matches[:1]
	}
	return a
}

func fixture(defect string) evidencetest.Fixture {
	m := &memory{defect: defect}
	return evidencetest.Fixture{
		Open: func(*testing.T) evidence.Adapter { return m },
		Put: func(_ *testing.T, carrier string) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.objects = append(m.objects, carrier)
		},
		Break: func(_ *testing.T, b evidencetest.Breakage) evidence.Adapter {
			return &memory{defect: defect, broken: b}
		},
		Requests: m.requests.Load,
		ReadOnly: func(t *testing.T) {
			if m.writes.Load() != 0 {
				t.Error("it wrote")
			}
		},
		Secrets: []string{secret},
	}
}

func TestConformancePassesAGoodAdapter(t *testing.T) {
	t.Parallel()
	evidencetest.Conformance(t, fixture(""))
}

// defectEnv makes this test binary, run as a child, test a defective adapter.
const defectEnv = "EVIDENCETEST_DEFECT"

func TestDefective(t *testing.T) {
	defect := os.Getenv(defectEnv)
	if defect == "" {
		return // it runs as a child of TestConformanceCatchesEveryDefect only
	}
	evidencetest.Conformance(t, fixture(defect))
}

func TestConformanceCatchesEveryDefect(t *testing.T) {
	t.Parallel()
	for defect, subtest := range map[string]string{
		"sheet does I/O":              "sheet is",
		"no reason":                   "sheet is",
		"takes any reference":         "invalid reference",
		"ignores cancellation":        "cancelled",
		"broken reads as empty":       "down",
		"writes":                      "read only",
		"remembers":                   "one session",
		"auth as unavailable":         "refused credentials",
		"gives up early":              "hanging",
		"error shows the secret":      "down",
		"transcript shows the secret": "found once",
		"never complete":              "unknown reference",
		"sees nothing":                "unknown reference",
		"substring match":             "near misses",
		"case is folded":              "near misses",
		"finds nothing":               "found once",
		"first match only":            "two objects",
	} {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestDefective$", "-test.v")
			cmd.Env = append(os.Environ(), defectEnv+"="+defect)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				t.Fatalf("the suite passed it (%v):\n%s", err, out)
			}
			caught := false
			for line := range strings.Lines(string(out)) {
				caught = caught || strings.Contains(line, "--- FAIL: TestDefective/") &&
					strings.Contains(line, strings.ReplaceAll(subtest, " ", "_"))
			}
			if !caught {
				t.Errorf("subtest %q did not fail:\n%s", subtest, out)
			}
		})
	}
}
