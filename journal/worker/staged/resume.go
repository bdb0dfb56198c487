package staged

import (
	"context"
	"fmt"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// earlier reads the handles that earlier attempts journaled. It returns one that
// can still be finished, or the outcome of one that was, or nothing. All are read
// before one is finished: another may have taken effect.
func (s Steps) earlier(ctx context.Context, g *worker.Grant) (*Handle, *worker.Outcome, error) {
	var open, closed *Handle
	var why Reading
	for _, h := range s.handles(g.Handles()) {
		r, err := s.Read(worker.Reading(ctx), h)
		if err != nil {
			return nil, nil, worker.NotSent(fmt.Errorf("reading %s %s: %w", s.Kind, h.Value, err))
		}
		switch {
		case r.State == Done:
			return nil, &r.Outcome, nil
		case r.State == Open:
			if open == nil {
				open = &h
			}
		case closed == nil || r.State == Pending:
			closed, why = &h, r
		}
	}
	switch {
	case closed != nil && (why.State != Gone || open == nil && g.Issue() <= 1):
		_, err := s.settle(*closed, why)
		return nil, nil, err
	case open != nil:
		return open, nil, nil
	}
	// None, or none is left and a person has ordered another issue since.
	return nil, nil, nil
}

// handles groups what the journal holds by attempt, each handle once.
func (s Steps) handles(list []journal.Handle) []Handle {
	var out []Handle
	at := map[string]int{} // value → index
	for _, h := range list {
		if h.Kind != s.Kind {
			continue
		}
		if _, seen := at[h.Value]; seen {
			continue
		}
		at[h.Value] = len(out)
		one := Handle{Value: h.Value, Beside: map[string]string{}}
		for _, other := range list {
			if other.Attempt == h.Attempt && other.Kind != s.Kind {
				one.Beside[other.Kind] = other.Value
			}
		}
		out = append(out, one)
	}
	return out
}
