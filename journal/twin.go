package journal

import (
	"maps"
	"time"
)

// Twin is another effect of the same root run that looks like the same deed under
// another key: the sign of a key that was minted inside the retry, or derived from
// arguments that an agent worded anew. Whoever repeats the one may double the
// other.
type Twin struct {
	ID, Operation, Subject string
	Amount, Currency       string
	State                  State
	CreatedAt              time.Time
	// Diff are the top-level arguments that differ: Was here, Now there.
	Diff []FieldDiff
	// SameArgs of AllArgs members are equal.
	SameArgs, AllArgs int
	// Why it is taken for a twin: one of the Twin* words.
	Why string
}

// Why an effect is taken for a twin.
const (
	TwinSubject = "subject" // the same one-line subject
	TwinAmount  = "amount"  // the same amount
	TwinLabels  = "labels"  // the same labels
	TwinArgs    = "args"    // at least half of the arguments are equal
)

// Landed reports whether the twin happened as far as its state says.
func (t Twin) Landed() bool { return t.State == StateCommitted }

// MaxTwins bounds how many are named.
const MaxTwins = 5

// NearTwins picks from effects of the same root run those that look like e: the
// same tool, and the same operation or business object (subject, labels), under
// another key. Where the operation is the same, an equal amount or half of the
// arguments is enough. The most alike come first; others must be in the order of
// their ids.
func NearTwins(e *Effect, others []Effect) []Twin {
	var out []Twin
	for i := range others {
		o := &others[i]
		if o.ID == e.ID || o.Tool != e.Tool || o.Namespace != e.Namespace || o.RootRun != e.RootRun || o.Supersedes == e.ID || e.Supersedes == o.ID {
			continue
		}
		t := Twin{ID: o.ID, Operation: o.Operation, Subject: o.Subject, Amount: o.Amount, Currency: o.Currency, State: o.State, CreatedAt: o.CreatedAt}
		t.Diff, t.SameArgs, t.AllArgs = alike(e.Args, o.Args)
		if t.Why = likeness(e, o, t); t.Why != "" {
			out = insertTwin(out, t)
		}
	}
	return out
}

func likeness(e, o *Effect, t Twin) string {
	sameOperation := o.Operation == e.Operation
	switch {
	case e.Subject != "" && o.Subject == e.Subject:
		return TwinSubject
	case len(e.Labels) > 0 && maps.Equal(e.Labels, o.Labels):
		return TwinLabels
	case sameOperation && e.Amount != "" && o.Amount == e.Amount && o.Currency == e.Currency:
		return TwinAmount
	case sameOperation && t.AllArgs > 0 && 2*t.SameArgs >= t.AllArgs:
		return TwinArgs
	}
	return ""
}

// alike compares the members of two objects; of anything else nothing is said.
func alike(a, b []byte) (diff []FieldDiff, same, all int) {
	am, okA := memberMap(a)
	bm, okB := memberMap(b)
	if !okA || !okB {
		return nil, 0, 0
	}
	_, diff = DiffArgs([]string{""}, a, b)
	all = len(am)
	for n, v := range bm {
		w, ok := am[n]
		if !ok {
			all++
		} else if v == w {
			same++
		}
	}
	return diff, same, all
}

// insertTwin keeps the most alike first, at most MaxTwins.
func insertTwin(ts []Twin, t Twin) []Twin {
	at := len(ts)
	for at > 0 && ts[at-1].SameArgs*max(t.AllArgs, 1) < t.SameArgs*max(ts[at-1].AllArgs, 1) {
		at--
	}
	ts = append(ts[:at], append([]Twin{t}, ts[at:]...)...)
	return ts[:min(len(ts), MaxTwins)]
}
