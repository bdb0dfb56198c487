package recipe

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/cel-go/cel"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/definition"
	"github.com/landedhq/landed/providers/evidence/faults"
)

// rule gives an outcome to an answer.
type rule struct {
	path             string
	when, retryAfter *definition.Expr
	outcome          journal.HandoverOutcome
	detail           string
}

// outcomes are what a rule may say.
func outcomes() []journal.HandoverOutcome {
	return []journal.HandoverOutcome{journal.HandoverAccepted, journal.HandoverResumed, journal.HandoverGone, journal.HandoverUnknown,
		journal.HandoverNotWaiting, journal.HandoverAuth, journal.HandoverTooLarge, journal.HandoverBadAddress, journal.HandoverTransient}
}

func (c *compiler) compileRules(path string, s *definition.Scope, bs []ruleBlock) []*rule {
	var out []*rule
	for i, b := range bs {
		p := definition.Index(path, i)
		if !slices.Contains(outcomes(), journal.HandoverOutcome(b.Outcome)) {
			c.Src.Fail(p+".outcome", "%q is none of accepted, resumed, gone, unknown, not_waiting, auth, too_large, bad_address, transient", b.Outcome)
		}
		if b.Detail == "" {
			c.Src.Fail(p+".detail", "is missing: say in one sentence what it means and what to do")
		}
		out = append(out, &rule{path: p, when: c.Expr(p+".when", s, b.When, cel.BoolType), retryAfter: c.Maybe(p+".retry_after", s, b.RetryAfter, cel.IntType),
			outcome: journal.HandoverOutcome(b.Outcome), detail: b.Detail})
	}
	return out
}

// verdict is what an answer means. The zero verdict: go on.
type verdict struct {
	outcome    journal.HandoverOutcome
	detail     string
	retryAfter time.Duration
	stop       bool
}

// judge finds the first rule that applies. strict makes an expression that fails
// an error: the answer has another form than the recipe knows. Otherwise such a
// rule does not apply.
func judge(ctx context.Context, rules []*rule, v definition.Vars, resp *http.Response, strict bool) (verdict, error) {
	for _, r := range rules {
		on, err := r.when.Bool(ctx, v)
		if err != nil && strict {
			return verdict{}, err
		}
		if err != nil || !on {
			continue
		}
		out := verdict{outcome: r.outcome, detail: r.detail, retryAfter: faults.RetryAfter(resp.Header, time.Now())}
		if r.retryAfter != nil {
			if secs, err := r.retryAfter.Int(ctx, v); err == nil {
				out.retryAfter = faults.Bounded(float64(secs))
			}
		}
		return out, nil
	}
	return verdict{}, nil
}

// byStatus is what an answer means where no rule speaks of it.
func byStatus(resp *http.Response, who string) verdict {
	code := resp.StatusCode
	v := verdict{outcome: journal.HandoverTransient, retryAfter: faults.RetryAfter(resp.Header, time.Now())}
	switch {
	case code >= 200 && code < 300:
		v.outcome, v.detail = journal.HandoverAccepted, fmt.Sprintf("%s took it (%d)", who, code)
	case code >= 300 && code < 400:
		v.detail = fmt.Sprintf("%s answers with a redirect (%d), which is never followed: give the configuration the address that it leads to", who, code)
	case code == http.StatusUnauthorized:
		v.outcome, v.detail = journal.HandoverAuth, who+" refuses the credentials (401): they are missing, wrong, expired or revoked"
	case code == http.StatusForbidden:
		v.outcome, v.detail = journal.HandoverAuth, who+" forbids this (403): a right or scope is missing"
	case code == http.StatusNotFound:
		v.outcome, v.detail = journal.HandoverUnknown, who+" knows nothing at that address (404)"
	case code == http.StatusGone:
		v.outcome, v.stop, v.detail = journal.HandoverGone, true, who+" says that this is gone for good (410)"
	case code == http.StatusRequestEntityTooLarge:
		v.outcome, v.detail = journal.HandoverTooLarge, "the message is too large for "+who+" (413)"
	case code == http.StatusTooManyRequests:
		v.detail = who + " wants fewer requests (429)"
	case code == http.StatusRequestTimeout || code >= 500:
		v.detail = fmt.Sprintf("%s is out of order (%d)", who, code)
	default:
		v.detail = fmt.Sprintf("%s refuses the request (%d)", who, code)
	}
	return v
}
