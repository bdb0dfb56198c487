package journal

import (
	"math/big"
	"slices"
	"strings"
	"time"
)

// Policy is what the installation asks of decisions and orders.
type Policy struct {
	Version string
	// EvidenceMaxAge: older evidence is pulled again before a decision.
	EvidenceMaxAge time.Duration
	// OrderEvidenceAge: an order expires when the evidence that it stands on is
	// this old.
	OrderEvidenceAge time.Duration
	// PickupWithin: an order expires this long after the decision.
	PickupWithin time.Duration
	// WindowMargin is kept between a same_key order's end and the key window's.
	WindowMargin time.Duration
	// RetryBudget is how many transient failures one turn may spend.
	RetryBudget int
	// VerifyLimit is how many looks a journal_deduped effect gets before it is parked.
	VerifyLimit int
	// MinLease, DefaultLease and MaxLease bound what begin may ask for.
	MinLease, DefaultLease, MaxLease time.Duration
	// RetryGrace: a fenced INTENT nobody retried this long after retry_at needs attention.
	RetryGrace time.Duration
	// DeliverWithin: a resolution that no runtime took or asked for raises an alert
	// after this long, AckWithin one that was taken and not acted on.
	DeliverWithin, AckWithin time.Duration
	// AlertInterval: a group (tool and provider) that got an alert is left alone
	// for so long; what comes up meanwhile goes into the next one.
	AlertInterval time.Duration
	// SettleFound names the tools whose effects a FOUND settles as landed without a
	// person. For journal_deduped the class settles a stuck INTENT anyway; a PARKED
	// effect settles so only if its tool is named here.
	SettleFound map[string]bool
	// Rules ask more of the decisions that they match; all that match hold.
	Rules []Rule
	// Overrides are the codes of the blocks that a second person may let pass.
	Overrides []string
	// BreakGlass are the groups whose members may act without the second person;
	// a review follows.
	BreakGlass []string
	// StepUp is how old the login may be for a decision whose rule, override or
	// break-glass asks for a fresh one.
	StepUp time.Duration
	// ProposalWithin is how long a proposal waits for the second person.
	ProposalWithin time.Duration
	// ReviewWithin is how long a break-glass decision may wait for its review.
	ReviewWithin time.Duration
	// BulkMax is how many effects one person may decide together.
	BulkMax int
	// BackoffBase and BackoffCap shape the wait that fail answers with.
	BackoffBase, BackoffCap time.Duration
}

// DefaultPolicy is used where the configuration says nothing.
func DefaultPolicy() Policy {
	return Policy{
		Version: "default/1", EvidenceMaxAge: 5 * time.Minute, OrderEvidenceAge: time.Hour,
		PickupWithin: 24 * time.Hour, WindowMargin: 5 * time.Minute, RetryBudget: 6, VerifyLimit: 12,
		MinLease: time.Second, DefaultLease: time.Minute, MaxLease: time.Hour,
		RetryGrace: 2 * time.Minute, AlertInterval: 5 * time.Minute,
		DeliverWithin: time.Hour, AckWithin: 24 * time.Hour,
		StepUp: 5 * time.Minute, ProposalWithin: 8 * time.Hour, ReviewWithin: 7 * 24 * time.Hour, BulkMax: 500, BackoffBase: 500 * time.Millisecond, BackoffCap: time.Minute,
	}
}

// Rule asks something of the decisions that it matches. A list that is empty
// matches everything.
type Rule struct {
	Name       string
	Tools      []string // a name, or a prefix ending in *
	Namespaces []string // the same
	Providers  []string // the same
	Classes    []Class
	Verbs      []Verb
	Verdicts   []Verdict // of the newest look; "" = there was none
	// AmountFrom and Currency: from this amount on. An effect that names no amount
	// or another currency matches too: nobody can say that it is less.
	AmountFrom, Currency string
	// BulkFrom: only when so many effects or more are decided together. 0 = always.
	BulkFrom int

	FourEyes       bool          // a second person approves
	StepUp         bool          // a fresh login
	Forbid         bool          // not at all
	EvidenceMaxAge time.Duration // 0 = the policy's
	ReasonCodes    []ReasonCode  // nil = all
	Groups         []string      // who may decide; nil = whoever may decide at all
}

// Demand is what a policy asks of one decision.
type Demand struct {
	Rules          []string // the names of the rules that matched and ask something
	FourEyes       bool
	StepUp         bool
	EvidenceMaxAge time.Duration
	ReasonCodes    []ReasonCode // nil = all
	Forbidden      string       // the rule that forbids it
	NotYours       string       // the rule that leaves it to other people
}

// Asks says what p asks of d. The overrides of d count as those that it needs.
func (p *Policy) Asks(s *Snapshot, d *Decision) Demand {
	ask := Demand{EvidenceMaxAge: p.EvidenceMaxAge}
	for i := range p.Rules {
		r := &p.Rules[i]
		if !r.matches(s, d) {
			continue
		}
		ask.Rules = append(ask.Rules, r.Name)
		ask.FourEyes = ask.FourEyes || r.FourEyes
		ask.StepUp = ask.StepUp || r.StepUp
		if r.EvidenceMaxAge > 0 {
			ask.EvidenceMaxAge = min(ask.EvidenceMaxAge, r.EvidenceMaxAge)
		}
		if r.ReasonCodes != nil {
			ask.narrow(r.ReasonCodes)
		}
		if r.Forbid && ask.Forbidden == "" {
			ask.Forbidden = r.Name
		}
		if r.Groups != nil && !d.Actor.InGroup(r.Groups) && ask.NotYours == "" {
			ask.NotYours = r.Name
		}
	}
	if d.Verb == VerbCorrect { // what was never asked for by anybody takes two
		ask.FourEyes = true
	}
	if len(d.Overrides) > 0 {
		ask.FourEyes, ask.StepUp = true, true
	}
	if d.BreakGlass {
		ask.StepUp = true
	}
	return ask
}

// narrow keeps the codes that every rule allows.
func (a *Demand) narrow(codes []ReasonCode) {
	if a.ReasonCodes == nil {
		a.ReasonCodes = slices.Clone(codes)
		return
	}
	a.ReasonCodes = slices.DeleteFunc(a.ReasonCodes, func(c ReasonCode) bool { return !slices.Contains(codes, c) })
}

// InGroup reports whether the person is in any of the groups.
func (a Actor) InGroup(groups []string) bool {
	return slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(a.Groups, g) })
}

func (r *Rule) matches(s *Snapshot, d *Decision) bool {
	e := &s.Effect
	last, _ := s.LastLook()
	return named(r.Tools, e.Tool) && named(r.Namespaces, e.Namespace) && named(r.Providers, e.Provider) &&
		listed(r.Classes, e.Class) && listed(r.Verbs, d.Verb) && listed(r.Verdicts, last.Verdict) && r.reaches(e) && d.Bulk >= r.BulkFrom
}

func listed[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }

func named(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool {
		if prefix, ok := strings.CutSuffix(p, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return p == name
	})
}

// reaches: the effect's amount is at least the rule's, or can't be compared.
func (r *Rule) reaches(e *Effect) bool {
	if r.AmountFrom == "" {
		return true
	}
	from, ok := new(big.Rat).SetString(r.AmountFrom)
	amount, known := new(big.Rat).SetString(e.Amount)
	return !ok || !known || e.Currency != r.Currency || amount.Abs(amount).Cmp(from) >= 0
}
