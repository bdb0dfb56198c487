package journal

import "time"

// Review is the later look that a decision taken alone (break-glass) asks for.
type Review struct {
	ID, EffectID, DecisionID string
	OpenedAt, DueAt          time.Time
	ClosedAt                 time.Time // zero while it is open
	ClosedBy                 Actor
	Agreed                   bool   // the reviewer finds that it was right to act alone
	Reason                   string // the reviewer's words
}

// ReviewClose is a reviewer's word.
type ReviewClose struct {
	ID     string
	Actor  Actor
	Agreed bool
	Reason string
}

// Permits checks the word against the decision that it is about: it must be
// another approver's.
func (r ReviewClose) Permits(d Decision) error {
	if err := checkReason(r.Reason); err != nil {
		return err
	}
	if !r.Actor.Has(RoleApprover) {
		return &PolicyError{Code: PolicyRole, Detail: "your role may not close a review: an approver can"}
	}
	if r.Actor.Same(d.Actor) {
		return &PolicyError{Code: PolicyOwnProposal, Detail: "you took this decision: another person has to review it"}
	}
	return nil
}

// ReviewItem is an open review with what it is about.
type ReviewItem struct {
	Review
	Decision Decision
	Effect   Sibling
}

// ProposalItem is an open proposal with what it is about.
type ProposalItem struct {
	Proposal
	Effect Sibling
}

// PolicySettled is one effect that policy settled.
type PolicySettled struct {
	Cursor     int64
	At         time.Time
	Effect     Sibling
	SettledBy  string // "policy" unless a person took it back, or a late commit came
	ProviderID string
}
