package journal

import (
	"fmt"
	"strconv"
	"strings"
)

// Correction is what a person changes of an effect that is done anew: the old one
// is closed as not landed, and another with these values takes its place, ordered
// for one attempt.
type Correction struct {
	Args             []byte
	Subject          string
	Amount, Currency string
}

// Successor is the effect that takes a corrected one's place, with its order.
type Successor struct {
	Effect Effect
	Order  Order
}

// MaxCorrections bounds how often one effect's successors are corrected again.
const MaxCorrections = 99

// CorrectedKey is the key of the effect that takes the place of key's: derived, so
// that it is the same for whoever asks, and never one that a caller minted. The
// original's key stays its beginning.
func CorrectedKey(key string) (string, error) {
	base, n := key, 1
	if i := strings.LastIndex(key, correctedMark); i > 0 {
		if v, err := strconv.Atoi(key[i+len(correctedMark):]); err == nil && v > 1 {
			base, n = key[:i], v
		}
	}
	if n > MaxCorrections {
		return "", invalid("args", fmt.Sprintf("were corrected %d times: begin a new effect instead", MaxCorrections))
	}
	out := base + correctedMark + strconv.Itoa(n+1)
	if len(out) > MaxKeyBytes {
		return "", invalid("args", "can't be corrected: the effect's key leaves no room for that of its successor")
	}
	return out, nil
}

const correctedMark = "~c"

// check refuses what a begin would refuse, and what corrects nothing.
func (k Correction) check(e *Effect) error {
	r := BeginRequest{Args: k.Args, Subject: k.Subject, Amount: k.Amount, Currency: k.Currency}
	if err := CheckArgs(k.Args); err != nil {
		return err // it says which field
	}
	if k.Args == nil {
		return invalid("args", "are missing")
	}
	if err := checkText("subject", k.Subject, MaxTextBytes); err != nil {
		return err
	}
	if err := r.validateValues(); err != nil {
		return err
	}
	diff, _ := DiffArgs(nil, e.Args, k.Args)
	if len(diff) == 0 && k.Subject == e.Subject && k.Amount == e.Amount && k.Currency == e.Currency {
		return invalid("args", "are the same as before: a re-issue runs them again")
	}
	return nil
}

// correct closes the effect as not landed and puts its successor beside it.
func (s *Snapshot) correct(c *Change, d *Decision, by string) error {
	key, err := CorrectedKey(s.Effect.Key)
	if err != nil {
		return err
	}
	if err := d.Correction.check(&s.Effect); err != nil {
		return err
	}
	o := s.newOrder(*d)
	if !s.Now.Before(o.ExpiresAt) {
		return &BlockedError{Verb: d.Verb, Reason: WhyWindowOver}
	}
	o.Mode, o.Issue, o.KnownUpTo = NewKey, 1, 0 // it knows nothing of the successor, of which nothing is known
	e := s.Effect
	n := Effect{ID: NewID(s.Now), Namespace: e.Namespace, Key: key, Ref: Ref(e.Namespace, key), Tool: e.Tool, Class: e.Class, Provider: e.Provider,
		KeyWindow: e.KeyWindow, ClientTimeout: e.ClientTimeout, RootRun: e.RootRun, RootRunStartedAt: e.RootRunStartedAt, Turn: e.Turn, Run: e.Run,
		Step: e.Step, Operation: e.Operation, Subject: d.Correction.Subject, Amount: d.Correction.Amount, Currency: d.Correction.Currency, Labels: e.Labels,
		Args: d.Correction.Args, FingerprintRule: FingerprintRule, Resume: e.Resume, Supersedes: e.ID, Traceparent: e.Traceparent,
		State: StateReissue, Version: 1, Issue: 1, Corrected: true, CreatedAt: s.Now, StateAt: s.Now}
	if n.Fingerprint, err = Fingerprint(s.Identity, BeginRequest{Args: n.Args, Operation: n.Operation, Subject: n.Subject, Amount: n.Amount, Currency: n.Currency}); err != nil {
		return invalid("args", err.Error())
	}
	c.Successor = &Successor{Effect: n, Order: o}
	s.spendOrder(c)
	c.fence(s, by)
	c.to(s, StateAbandoned)
	c.Effect.SettledBy = by
	d.SuccessorID = n.ID
	r := c.resolve(s, ResolvedCorrected, by, d.Reason)
	r.SuccessorID, r.SuccessorKey, r.OrderID, r.OrderExpiresAt = n.ID, key, o.ID, &o.ExpiresAt
	return nil
}
