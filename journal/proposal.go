package journal

import (
	"fmt"
	"time"
)

// Proposal is a decision that waits for a second person.
type Proposal struct {
	ID string
	// Decision is what would be recorded: verb, mode, actor, reason, overrides, and
	// the evidence that the proposer saw.
	Decision Decision
	// Version is the effect's right after the proposal was recorded.
	Version   int64
	CreatedAt time.Time
	ExpiresAt time.Time
	// AuditSeq is the number of its audit row; set when recorded.
	AuditSeq int64

	Ended       string // "", or one of the Proposal* words
	EndedAt     time.Time
	EndedBy     Actor // zero for void and expired
	EndedReason string
}

// How a proposal ends.
const (
	ProposalApproved  = "approved"
	ProposalRejected  = "rejected"
	ProposalWithdrawn = "withdrawn" // by the proposer
	ProposalVoid      = "void"      // the effect no longer waits for a decision
	ProposalExpired   = "expired"
)

// Open reports whether somebody may still approve or reject it at now.
func (p *Proposal) Open(now time.Time) bool {
	return p != nil && p.Ended == "" && now.Before(p.ExpiresAt)
}

// Approval is the second person's word on a proposal.
type Approval struct {
	ProposalID string
	EffectID   string
	Actor      Actor
	Reason     string
	// Expected and Digest are what the second person saw.
	Expected int64
	Digest   string
	At       time.Time
}

// Validate checks what the second person gave.
func (a Approval) Validate() error {
	if a.Expected <= 0 {
		return invalid("version", "is missing: send the version of the effect that you saw")
	}
	return checkReason(a.Reason)
}

// Propose records a decision that waits for a second person. Errors as of
// Decide, and *PolicyError if another proposal is open.
func (s *Snapshot) Propose(d Decision) (Change, error) {
	as, _, err := s.admit(&d)
	if err != nil {
		return Change{}, err
	}
	if s.Proposal.Open(s.Now) {
		return Change{}, &PolicyError{Code: PolicyProposed, Detail: fmt.Sprintf("%s has proposed something already: have it approved, rejected or withdrawn first", s.Proposal.Decision.Actor.Name)}
	}
	c := s.change()
	c.Requires = GuardLeaseOver
	d.At, d.AssessmentSummary = s.Now, string(as.Recommend)
	c.Proposal = &Proposal{ID: NewID(s.Now), Decision: d, Version: s.Effect.Version + 1, CreatedAt: s.Now, ExpiresAt: s.Now.Add(s.Policy.ProposalWithin)}
	c.event(s, EventProposed, 0, "operator:"+d.Actor.Subject, map[string]string{"proposal": c.Proposal.ID, "verb": string(d.Verb), "mode": string(d.Mode)})
	return *c, nil
}

// Approve carries the proposed decision on the second person's word, judged anew
// on what is known now. Errors as of Decide; *PolicyError for the proposer's own
// word, a missing role, and a proposal that is over.
func (s *Snapshot) Approve(a Approval) (Change, error) {
	p := s.Proposal
	switch {
	case p == nil || p.ID != a.ProposalID || !p.Open(s.Now):
		return Change{}, &PolicyError{Code: PolicyNoProposal, Detail: "the proposal is over: see the effect as it is now"}
	case a.Actor.Same(p.Decision.Actor):
		return Change{}, &PolicyError{Code: PolicyOwnProposal, Detail: "you proposed it: another person has to approve"}
	case !a.Actor.Has(RoleApprover):
		return Change{}, &PolicyError{Code: PolicyRole, Detail: "your role may not approve: an approver can"}
	}
	a.At = s.Now
	d := p.Decision
	d.Expected, d.Digest, d.Approval = a.Expected, a.Digest, &a
	return s.Decide(d)
}

// Reject ends a proposal without a decision; its own proposer withdraws it.
func (s *Snapshot) Reject(a Approval) (Change, error) {
	p := s.Proposal
	if p == nil || p.ID != a.ProposalID || !p.Open(s.Now) {
		return Change{}, &PolicyError{Code: PolicyNoProposal, Detail: "the proposal is over: see the effect as it is now"}
	}
	how := ProposalRejected
	if a.Actor.Same(p.Decision.Actor) {
		how = ProposalWithdrawn
	} else if !a.Actor.Has(RoleApprover) {
		return Change{}, &PolicyError{Code: PolicyRole, Detail: "your role may not reject: an approver can"}
	}
	c := s.change()
	c.endProposal(s, how, a.Actor, a.Reason)
	return *c, nil
}

// endProposal closes the open proposal, if there is one.
func (c *Change) endProposal(s *Snapshot, how string, who Actor, reason string) {
	if s.Proposal == nil || s.Proposal.Ended != "" {
		return
	}
	p := *s.Proposal
	p.Ended, p.EndedAt, p.EndedBy, p.EndedReason = how, s.Now, who, reason
	c.Proposal = &p
	if how == ProposalApproved {
		return // the decision's own event says it
	}
	by := "sweeper"
	if who.Subject != "" {
		by = "operator:" + who.Subject
	}
	c.event(s, EventProposalOver, 0, by, map[string]string{"proposal": p.ID, "how": how, "reason": reason})
}

// Overtaken ends a proposal that c leaves without its ground: the effect moved on
// by itself, or was decided otherwise. The store asks it of every change.
func (s *Snapshot) Overtaken(c *Change) {
	if s.Proposal == nil || s.Proposal.Ended != "" || c.Proposal != nil {
		return
	}
	moved := c.Effect.State != s.Effect.State && (c.Effect.State != StateParked || s.Effect.State != StateIntent)
	if c.Decision != nil || moved || c.Granted != nil {
		c.endProposal(s, ProposalVoid, Actor{}, "")
	}
}

// ExpireProposal ends a proposal that nobody answered in time.
func (s *Snapshot) ExpireProposal() Change {
	c := s.change()
	if p := s.Proposal; p != nil && p.Ended == "" && !p.Open(s.Now) {
		c.endProposal(s, ProposalExpired, Actor{}, "")
	}
	return *c
}
