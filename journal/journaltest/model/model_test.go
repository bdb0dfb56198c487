package model

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal/journaltest"
)

var (
	checks    = flag.Int("model.checks", 30, "how many stories are played")
	length    = flag.Int("model.steps", 30, "how many acts a story has")
	seed      = flag.Uint64("model.seed", 1, "the first story; story n is made from seed + n; 0 = a new one every time")
	shrinkFor = flag.Duration("model.shrink", 40*time.Second, "how long a failing story is cut down")
)

func TestMain(m *testing.M) { journaltest.Main(m) }

// TestJournal_KeepsItsPromises plays made-up stories of workers, operators and
// collectors on the journal and on the model.
func TestJournal_KeepsItsPromises(t *testing.T) {
	t.Parallel()
	first := *seed
	if first == 0 {
		first = rand.Uint64N(1 << 40)
	}
	const halves = 2
	for half := range uint64(halves) {
		t.Run(fmt.Sprintf("stage %d", half+1), func(t *testing.T) {
			t.Parallel()
			st := openStage(t)
			slow := 0
			for n := half; n < uint64(*checks); n += halves {
				p := tell(t, st, first+n)
				st.played += p.steps
				if p.slow() {
					slow++
				}
			}
			if _, err := st.store.VerifyAudit(t.Context()); err != nil {
				t.Errorf("the audit trail: %v", err)
			}
			t.Logf("%d acts; %d stories were cut short on a slow machine", st.played, slow)
		})
	}
}

// tell makes and plays the story of a seed; a failing one is cut down.
func tell(t *testing.T, st *stage, seed uint64) *player {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	p, err := newPlayer(t.Context(), st, newStory(r))
	if err != nil {
		t.Fatal(err)
	}
	for range *length {
		o := p.next(r)
		p.s.ops = append(p.s.ops, o)
		p.play(t.Context(), o)
		if p.slow() {
			return p
		}
		if p.failure != "" {
			small, n := shrink(t.Context(), st, p, *shrinkFor)
			t.Fatalf("story of seed %d broke after %d acts, %d on this stage; cut down to %d acts in %d tries:\n%s",
				seed, p.steps, st.played+p.steps, small.steps, n, small.report())
		}
	}
	return p
}

// replay plays a story to its end or its first failure.
func replay(ctx context.Context, st *stage, s story) *player {
	p, err := newPlayer(ctx, st, story{tools: s.tools})
	if err != nil {
		return &player{failure: ""}
	}
	for _, o := range s.ops {
		if p.play(ctx, o) {
			p.s.ops = append(p.s.ops, o)
		}
		if p.failure != "" || p.slow() {
			break
		}
	}
	return p
}

func (p *player) report() string {
	return strings.Join(p.lines, "\n") + "\n  => " + p.failure
}
