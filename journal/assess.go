package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// Recommendation is what an assessment advises.
type Recommendation string

// The recommendations.
const (
	RecommendCloseLanded    Recommendation = "close_landed"
	RecommendCloseNotLanded Recommendation = "close_not_landed"
	RecommendReissue        Recommendation = "reissue"
	RecommendWait           Recommendation = "wait"
	RecommendInvestigate    Recommendation = "investigate"
	RecommendNothing        Recommendation = "nothing" // not decidable now: live, ordered or settled
)

// ReasonLine is one reason behind an assessment. Code is stable; package web
// holds the sentences. Attempt and Until fill the sentence where it has them.
type ReasonLine struct {
	Code    string
	Attempt int
	Until   time.Time
}

// Codes of reason lines.
const (
	WhyFound          = "found"
	WhyFoundPending   = "found_pending"
	WhyDuplicate      = "found_twice"
	WhyNotEffective   = "found_not_effective"
	WhyNotFound       = "not_found"
	WhyNotSent        = "nothing_left_the_worker"
	WhyRefused        = "provider_refused"
	WhyExposed        = "attempt_exposed"
	WhyTooEarly       = "too_early"
	WhyCannotTell     = "cannot_tell"
	WhyNoLook         = "no_look_yet"
	WhyNoAdapter      = "no_adapter"
	WhyWindowOpen     = "window_open"
	WhyWindowOver     = "window_over"
	WhyConfirmed      = "attempt_confirmed"
	WhyAtMostOnce     = "class_at_most_once"
	WhyLive           = "attempt_live"
	WhyOrdered        = "order_open"
	WhySettled        = "settled"
	WhyClock          = "clock_suspect"
	WhyContradicted   = "contradicted"
	WhyProbablyDouble = "probably_double"
	WhyNoNativeKey    = "no_native_key"
	WhyByPolicy       = "settled_by_policy"
	WhyTwinLanded     = "twin_landed" // another effect that looks like it happened
	WhyTwin           = "twin"        // another effect looks like it, outcome open
	WhyNotProved      = "not_proved"  // many are re-issued only where a NOT_FOUND covers all that was sent
	WhyStillOpen      = "still_open"  // nothing to take back: it waits for a decision as it is
)

// Block forbids one way to decide.
type Block struct {
	Code  string    // one of the Why* codes
	Until time.Time // when it ends by itself; zero = it does not
}

// Overridable reports whether a second person may let the block pass, where the
// policy allows: what the evidence says can be wrong. What a worker confirmed,
// what a provider's key can't do, and what nobody decides now stays forbidden.
func (b Block) Overridable() bool {
	switch b.Code {
	case WhyFound, WhyFoundPending, WhyDuplicate, WhyTooEarly:
		return true
	}
	return false
}

// Assessment is what follows from class, attempts, evidence and clock. It is a
// pure function of the snapshot, shown on the page, kept with the decision,
// and checked again when the decision is carried.
type Assessment struct {
	Recommend Recommendation
	Mode      ReissueMode // for RecommendReissue
	Until     time.Time   // for RecommendWait
	Reasons   []ReasonLine
	// Blocks says what forbids a choice now, the weightiest first.
	Blocks map[Choice][]Block
	// SafeUntil is when the provider's key stops protecting a repeat: a countdown
	// before it, a block after. Zero = there is none.
	SafeUntil time.Time
	// Digest identifies the evidence set that the assessment stands on.
	Digest string
}

// Assess judges the effect. The clock is the snapshot's.
func Assess(s *Snapshot) Assessment {
	a := Assessment{Digest: s.EvidenceDigest(), SafeUntil: s.WindowEnd(), Blocks: map[Choice][]Block{}}
	if s.Effect.Contradicted {
		a.why(WhyContradicted)
	}
	if s.Effect.ProbablyDouble {
		a.why(WhyProbablyDouble)
	}
	if !s.Decidable() {
		s.assessClosed(&a)
		return a
	}
	s.assessBlocks(&a)
	s.assessOpen(&a)
	s.assessTwins(&a)
	a.dropBlocked()
	return a
}

func (a *Assessment) why(code string) { a.Reasons = append(a.Reasons, ReasonLine{Code: code}) }

func (a *Assessment) block(b Block, choices ...Choice) {
	for _, c := range choices {
		a.Blocks[c] = append(a.Blocks[c], b)
	}
}

func (s *Snapshot) assessClosed(a *Assessment) {
	a.Recommend = RecommendNothing
	code := WhySettled
	switch {
	case s.Live():
		code = WhyLive
	case s.Effect.State == StateReissue:
		code = WhyOrdered
		a.Reasons = append(a.Reasons, ReasonLine{Code: code, Until: s.Order.expires()})
	case s.Reopenable():
		a.why(WhyByPolicy)
	}
	if code != WhyOrdered {
		a.why(code)
	}
	for _, c := range Choices() {
		if c.Verb != VerbReopen || !s.Reopenable() {
			a.block(Block{Code: code}, c)
		}
	}
}

// Reopenable: policy settled it, nobody confirmed it, and no second landing is
// at hand: a person may take the settlement back.
func (s *Snapshot) Reopenable() bool {
	_, confirmed := s.Confirmed()
	return s.Effect.State == StateCommitted && s.Effect.SettledBy == "policy" && !confirmed
}

func (o *Order) expires() time.Time {
	if o == nil {
		return time.Time{}
	}
	return o.ExpiresAt
}

// assessBlocks fills what is forbidden.
func (s *Snapshot) assessBlocks(a *Assessment) {
	same, fresh := Choice{VerbReissue, SameKey}, Choice{VerbReissue, NewKey}
	notLanded, correct := Choice{VerbCloseNotLanded, ""}, Choice{VerbCorrect, ""}
	a.block(Block{Code: WhyStillOpen}, Choice{VerbReopen, ""})
	if s.Effect.Class != ClassProviderIdempotent {
		a.block(Block{Code: WhyNoNativeKey}, same)
	} else if end := s.WindowEnd(); !end.IsZero() && !s.Now.Add(s.Policy.WindowMargin).Before(end) {
		a.block(Block{Code: WhyWindowOver}, same)
	}
	if _, ok := s.Confirmed(); ok {
		a.block(Block{Code: WhyConfirmed}, same, fresh, correct, notLanded)
	}
	if hit, ok := s.Hit(); ok {
		a.block(Block{Code: hitWhy(hit.Verdict)}, same, fresh, correct, notLanded)
	}
	if until, early := s.tooEarly(); early {
		a.block(Block{Code: WhyTooEarly, Until: until}, same, fresh, correct)
	}
	if s.ClockSuspect {
		a.block(Block{Code: WhyClock}, same, fresh, correct)
	}
}

// dropBlocked advises nothing that is forbidden at the moment: a step of the clock,
// or a look that came too early, stands in the way of what would be right.
func (a *Assessment) dropBlocked() {
	if a.Recommend != RecommendReissue {
		return
	}
	b := a.BlockFor(VerbReissue, a.Mode)
	if b == nil {
		return
	}
	a.Recommend, a.Mode = RecommendInvestigate, ""
	if !b.Until.IsZero() {
		a.Recommend, a.Until = RecommendWait, b.Until
	}
	a.Reasons = append(a.Reasons, ReasonLine{Code: b.Code, Until: b.Until})
}

// assessTwins: whoever repeats this effect may double another that looks like it.
// One that landed turns an advice to repeat into a question; it blocks nothing,
// since two mails may well be meant.
func (s *Snapshot) assessTwins(a *Assessment) {
	for _, t := range s.Twins {
		if t.Landed() {
			a.why(WhyTwinLanded)
			if a.Recommend == RecommendReissue {
				a.Recommend, a.Mode = RecommendInvestigate, ""
			}
			return
		}
	}
	if len(s.Twins) > 0 {
		a.why(WhyTwin)
	}
}

func hitWhy(v Verdict) string {
	switch v {
	case Duplicate:
		return WhyDuplicate
	case FoundPending:
		return WhyFoundPending
	}
	return WhyFound
}

// tooEarly: something is exposed and the newest look says that asking again
// later can tell. Before the first look a re-issue waits as well, where looking
// is possible.
func (s *Snapshot) tooEarly() (time.Time, bool) {
	if len(s.Exposed()) == 0 {
		return time.Time{}, false
	}
	l, ok := s.LastLook()
	if ok && l.Verdict == CannotTell && l.Reason == CannotTooEarly && l.LookAgainAt.After(s.Now) {
		return l.LookAgainAt, true
	}
	return time.Time{}, false
}

// assessOpen picks the recommendation: facts that something landed come first,
// then proofs that nothing did, then what can still be learned.
func (s *Snapshot) assessOpen(a *Assessment) {
	exposed := s.Exposed()
	last, looked := s.LastLook()
	hit, isHit := s.Hit()
	_, confirmed := s.Confirmed()
	switch {
	case confirmed:
		a.Recommend = RecommendCloseLanded
		a.why(WhyConfirmed)
	case isHit && hit.Verdict == Found:
		a.Recommend = RecommendCloseLanded
		a.why(WhyFound)
	case isHit && hit.Verdict == FoundPending && hit.LookAgainAt.After(s.Now):
		a.Recommend, a.Until = RecommendWait, hit.LookAgainAt
		a.why(WhyFoundPending)
	case isHit:
		a.Recommend = RecommendInvestigate
		a.why(hitWhy(hit.Verdict))
	case len(exposed) == 0:
		s.assessUnexposed(a)
	case looked && last.Verdict == FoundNotEffective:
		a.Recommend = RecommendInvestigate
		a.why(WhyNotEffective)
	default:
		s.assessUnknown(a, looked)
	}
	for _, e := range exposed {
		a.Reasons = append(a.Reasons, ReasonLine{Code: WhyExposed, Attempt: e.Number})
	}
	s.assessWindow(a)
}

// assessUnexposed: nothing may have landed.
func (s *Snapshot) assessUnexposed(a *Assessment) {
	a.Recommend, a.Mode = RecommendReissue, NewKey
	refused := false
	for _, t := range s.Attempts {
		refused = refused || t.Phase == PhaseRefused
	}
	if l, ok := s.LastLook(); ok && l.Verdict == NotFound {
		a.why(WhyNotFound)
	}
	if refused {
		a.why(WhyRefused)
		if cur, _ := s.Current(); cur.Phase == PhaseRefused && cur.Final {
			a.Recommend, a.Mode = RecommendCloseNotLanded, ""
		}
		return
	}
	if s.allNotSent() {
		a.why(WhyNotSent)
		return
	}
	if l, ok := s.LastLook(); ok && l.Verdict == FoundNotEffective { // seen after it was missed: somebody has to look
		a.Recommend, a.Mode = RecommendInvestigate, ""
		a.why(WhyNotEffective)
	} else if ok && l.Verdict != NotFound { // an earlier look missed it, and nothing that came later outweighs that
		a.why(WhyNotFound)
	}
}

func (s *Snapshot) allNotSent() bool {
	for _, t := range s.Attempts {
		if t.Phase != PhaseNotSent {
			return false
		}
	}
	return len(s.Attempts) > 0
}

// assessUnknown: something may have landed and no look has settled it.
func (s *Snapshot) assessUnknown(a *Assessment, looked bool) {
	until, early := s.tooEarly()
	switch {
	case early:
		a.Recommend, a.Until = RecommendWait, until
		a.Reasons = append(a.Reasons, ReasonLine{Code: WhyTooEarly, Until: until})
	case !looked && s.CanLook:
		a.Recommend, a.Until = RecommendWait, s.Effect.NextLookAt
		a.why(WhyNoLook)
	case s.Effect.Class == ClassProviderIdempotent && a.sameKeyOpen():
		a.Recommend, a.Mode = RecommendReissue, SameKey
	case !s.CanLook && !looked:
		a.Recommend = RecommendInvestigate
		a.why(WhyNoAdapter)
	default:
		a.Recommend = RecommendInvestigate
		a.why(WhyCannotTell)
	}
	if s.Effect.Class == ClassAtMostOnce {
		a.why(WhyAtMostOnce)
	}
}

func (a *Assessment) sameKeyOpen() bool { return a.BlockFor(VerbReissue, SameKey) == nil }

func (s *Snapshot) assessWindow(a *Assessment) {
	if a.SafeUntil.IsZero() {
		return
	}
	code := WhyWindowOpen
	if !s.Now.Before(a.SafeUntil) {
		code = WhyWindowOver
	}
	a.Reasons = append(a.Reasons, ReasonLine{Code: code, Until: a.SafeUntil})
}

// BlockFor returns the weightiest block on a verb, nil if it is allowed.
func (a Assessment) BlockFor(v Verb, m ReissueMode) *Block {
	if bs := a.Blocks[Choice{v, m}]; len(bs) > 0 {
		return &bs[0]
	}
	return nil
}

// EvidenceDigest identifies the set of looks: any further evidence changes it.
func (s *Snapshot) EvidenceDigest() string {
	h := sha256.New()
	for _, l := range s.Looks {
		fmt.Fprintf(h, "%s\x00%s\x00%s\x00", l.ID, l.Verdict, l.Digest)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}
