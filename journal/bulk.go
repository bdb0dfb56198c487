package journal

import (
	"errors"
	"strings"
	"time"
)

// Bulk is one person's word on many effects: a set frozen as the person saw it,
// and later an order to decide each of them. Every item is a decision of its
// own, by the same rules as a single one; whatever changed since the set was
// frozen is left alone.
//
//	frozen ──order──► running ──► done
//	                     └──stop──► stopped
type Bulk struct {
	ID        string
	Actor     Actor  // who froze the set; nobody else may order
	Filter    string // the list's query in the address, as the person had it
	Count     int    // how many effects are in the set
	Matched   int    // how many the filter matched, up to TotalCap; above Count the set was cut
	CreatedAt time.Time
	State     BulkState
	Order     *BulkOrder // nil while frozen
	EndedAt   time.Time
	StoppedBy Actor
	Items     []BulkItem // in the list's order; loaded for pages only
	Now       time.Time  // the database's clock
}

// BulkState is how far a bulk got.
type BulkState string

// The states of a bulk.
const (
	BulkFrozen  BulkState = "frozen"
	BulkRunning BulkState = "running"
	BulkStopped BulkState = "stopped"
	BulkDone    BulkState = "done"
)

// BulkOrder is what the person wants done with the set.
type BulkOrder struct {
	BulkID     string
	Verb       Verb
	Mode       ReissueMode
	ReasonCode ReasonCode
	Reason     string
	// Eligible is how many of the set it reaches; the rest is set aside.
	Eligible int
	Actor    Actor // with the age of the login
	At       time.Time
	AuditSeq int64 // of its audit row; set when recorded
}

// BulkItem is one effect of the set, as it was when the set was frozen.
type BulkItem struct {
	No       int // from 1
	EffectID string
	Version  int64
	Digest   string
	State    State
	Verdict  Verdict // of the newest look, "" = none
	Effect   Sibling // as it is now; without an id if it was purged

	Outcome    BulkOutcome
	Code       string // why not, stable: "blocked:<code>", "policy:<code>", …
	Why        string // the same for people, where a code does not say it
	DecisionID string
	ProposalID string
	At         time.Time
	Tries      int
}

// BulkOutcome is what became of an item. The zero value: not reached yet.
type BulkOutcome string

// The outcomes of an item.
const (
	BulkDecided  BulkOutcome = "decided"
	BulkProposed BulkOutcome = "proposed" // waits for a second person
	BulkRefused  BulkOutcome = "refused"  // the rules forbade it when its turn came
	BulkStale    BulkOutcome = "stale"    // it changed since the set was frozen
	BulkSkipped  BulkOutcome = "skipped"  // the order did not reach it
)

// BulkOutcomes lists them in display order.
func BulkOutcomes() []BulkOutcome {
	return []BulkOutcome{BulkDecided, BulkProposed, BulkRefused, BulkStale, BulkSkipped}
}

// Codes of an item that was not decided, beside "blocked:", "policy:" and "invalid:".
const (
	BulkCodeStale   = "stale"
	BulkCodeGone    = "gone"    // purged meanwhile
	BulkCodeTwice   = "singly"  // the same person decided it by itself
	BulkCodeFailed  = "failed"  // it could not be tried, several times
	BulkCodeStopped = "stopped" // the bulk was stopped before its turn
)

// Validate checks what the person gave.
func (o BulkOrder) Validate() error {
	return Decision{Verb: o.Verb, Mode: o.Mode, ReasonCode: o.ReasonCode, Reason: o.Reason, Expected: 1, Bulk: 1}.Validate()
}

// Permits says whether the person may order the bulk at all.
func (o BulkOrder) Permits(b *Bulk) error {
	switch {
	case !o.Actor.MayDecide():
		return &PolicyError{Code: PolicyRole, Detail: "your role may not decide: an operator or approver can"}
	case !o.Actor.Same(b.Actor):
		return &PolicyError{Code: PolicyNotYours, Detail: "somebody else froze this set: only who saw it may decide it; make one of your own"}
	}
	return nil
}

// Decision is the word on one item.
func (b *Bulk) Decision(it BulkItem, o BulkOrder) Decision {
	return Decision{EffectID: it.EffectID, Verb: o.Verb, Mode: o.Mode, Expected: it.Version, Digest: it.Digest, Actor: o.Actor, Source: "page",
		ReasonCode: o.ReasonCode, Reason: o.Reason, Bulk: b.Count, BulkID: b.ID, OrderedAt: o.At}
}

// Tally counts the items by outcome; "" is what is not reached yet.
func (b *Bulk) Tally() map[BulkOutcome]int {
	n := map[BulkOutcome]int{}
	for _, it := range b.Items {
		n[it.Outcome]++
	}
	return n
}

// BulkWeight is what would become of one item.
type BulkWeight struct {
	Item     BulkItem // with Outcome, Code and Why as they would be
	SignIn   bool     // the policy asks for a fresh login first
	Demand   Demand
	Eligible bool // it would be decided or proposed
	Against  bool // and departs from what the assessment recommends
}

// WeighBulk says what would become of each item under an order, by the rules of
// single decisions. now holds the effects as they are, by id. A reason code that
// is not given yet stands for any that the policy allows.
func (b *Bulk) WeighBulk(o BulkOrder, now map[string]*Snapshot) []BulkWeight {
	out := make([]BulkWeight, 0, len(b.Items))
	for _, it := range b.Items {
		out = append(out, b.weigh(it, o, now[it.EffectID]))
	}
	return out
}

func (b *Bulk) weigh(it BulkItem, o BulkOrder, s *Snapshot) BulkWeight {
	w := BulkWeight{Item: it}
	if s == nil {
		w.Item.Outcome, w.Item.Code = BulkStale, BulkCodeGone
		return w
	}
	var err error
	codes := []ReasonCode{o.ReasonCode}
	if o.ReasonCode == "" {
		codes = ReasonCodes()
	}
	for _, code := range codes {
		o.ReasonCode = code
		var ie *InvalidError
		if _, w.Demand, err = s.Weigh(b.Decision(it, o)); !errors.As(err, &ie) {
			break
		}
	}
	var pe *PolicyError
	if errors.As(err, &pe) && pe.Code == PolicyStepUp {
		w.SignIn, err = true, nil
	}
	if err != nil {
		w.Item.Outcome, w.Item.Code, w.Item.Why, _ = BulkRefusal(err)
		return w
	}
	w.Eligible = true
	as := Assess(s)
	w.Against = string(as.Recommend) != string(o.Verb) || o.Verb == VerbReissue && as.Mode != o.Mode
	w.Item.Outcome = BulkDecided
	if w.Demand.FourEyes {
		w.Item.Outcome = BulkProposed
	}
	return w
}

// BulkRefusal turns the error of a decision into an item's outcome; known is
// false for what is no refusal.
func BulkRefusal(err error) (out BulkOutcome, code, why string, known bool) {
	var (
		stale   *StaleError
		blocked *BlockedError
		policy  *PolicyError
		wrong   *InvalidError
	)
	switch {
	case errors.As(err, &stale):
		why = strings.Join(stale.Changed, " ")
		if w := stale.Winner; w != nil {
			why = w.Actor.Name + " decided it first. " + why
		}
		return BulkStale, BulkCodeStale, why, true
	case errors.As(err, &blocked):
		return BulkRefused, "blocked:" + blocked.Reason, "", true
	case errors.As(err, &policy):
		return BulkRefused, "policy:" + policy.Code, policy.Detail, true
	case errors.As(err, &wrong):
		return BulkRefused, "invalid:" + wrong.Field, wrong.Field + " " + wrong.Detail, true
	case errors.Is(err, ErrNotFound):
		return BulkStale, BulkCodeGone, "", true
	}
	return "", "", "", false
}

// ProvedAbsent reports whether the newest look is a NOT_FOUND and nothing is
// exposed beside it: the only ground for repeating many at once.
func (s *Snapshot) ProvedAbsent() bool {
	l, ok := s.LastLook()
	return ok && l.Verdict == NotFound && len(s.Exposed()) == 0
}
