package worker

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/landedhq/landed/journal"
)

// Response is a provider's HTTP answer, read whole.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Classifier turns a provider's answers into verdicts. The zero value is the
// careful default: what it does not recognise counts as "may have happened".
type Classifier struct {
	// Parse reads the body of a 2xx: only its nil error confirms. Return Refused
	// if the body says that nothing was done; any other error leaves the outcome
	// unknown. nil = ParseJSON.
	Parse func(Response) (Outcome, error)
	// Judge is the provider's own policy and is asked first; false leaves the
	// answer to the table.
	Judge func(Response) (Verdict, bool)
	// Codes adds to the body codes that tell the meanings of a refusal apart.
	Codes map[string]Meaning
	// ExistsIsOurs: objects carry our reference as their identity, so "exists"
	// means that an earlier request landed. The outcome is then unknown instead
	// of refused.
	ExistsIsOurs bool
	// RetryAfterCap bounds what the provider may ask for; default 1 h.
	RetryAfterCap time.Duration
	// Now is for Retry-After dates without a Date header; nil = time.Now.
	Now func() time.Time
}

// maxBody bounds what is read of an answer.
const maxBody = 4 << 20

// Send sends one request and judges the answer. The request's context must
// come from Do, client from Client or with the worker's transport.
func (c Classifier) Send(client *http.Client, req *http.Request) (Outcome, error) {
	resp, err := client.Do(req)
	if err != nil {
		return Outcome{}, err // the transport's record tells the phase
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = fmt.Errorf("the answer has more than %d bytes", maxBody)
	}
	out, v := c.Classify(&Response{Status: resp.StatusCode, Header: resp.Header, Body: body}, err, journal.PhaseSent)
	return out, v.Err(err)
}

// Classify judges one answer. resp is nil if none came; err is why, or why the
// body could not be read whole; phase is how far the request is known to have
// got when no answer came (not_sent or sent).
func (c Classifier) Classify(resp *Response, err error, phase journal.Phase) (Outcome, Verdict) {
	if resp == nil {
		if phase != journal.PhaseNotSent {
			phase = journal.PhaseSent
		}
		return Outcome{}, Verdict{Phase: phase, Meaning: MeaningNoAnswer}
	}
	v, judged := Verdict{}, false
	if c.Judge != nil {
		v, judged = c.Judge(*resp)
	}
	var out Outcome
	switch {
	case judged:
		if v.Phase == journal.PhaseConfirmed {
			out, v = c.confirm(*resp, err, v)
		}
	case resp.Status >= 200 && resp.Status < 300:
		out, v = c.confirm(*resp, err, v)
	default:
		v = c.byStatus(*resp)
		v.RetryAfter = c.retryAfter(*resp)
	}
	v.Status = resp.Status
	v.Replayed = v.Replayed || Replayed(resp.Header)
	out.Replayed = v.Replayed
	if v.Phase != journal.PhaseConfirmed && v.Text == "" {
		v.Text = excerpt(resp.Body)
	}
	return out, v
}

// confirm parses a 2xx: nothing is confirmed before its body is understood.
func (c Classifier) confirm(resp Response, readErr error, v Verdict) (Outcome, Verdict) {
	if readErr != nil {
		return Outcome{}, Verdict{Phase: journal.PhaseSent, Meaning: MeaningUnparsable}
	}
	parse := c.Parse
	if parse == nil {
		parse = ParseJSON
	}
	out, err := parse(resp)
	if err == nil {
		v.Phase, v.Meaning = journal.PhaseConfirmed, MeaningConfirmed
		return out, v
	}
	v = Verdict{Phase: journal.PhaseSent, Meaning: MeaningUnparsable, Text: errorText(err)}
	var f *Failure
	if errors.As(err, &f) && f.Verdict.Phase.Valid() && f.Verdict.Phase != journal.PhaseNotSent {
		v = f.Verdict
		v.Text = errorText(err)
		if v.Meaning == "" || v.Meaning == MeaningRefused {
			v.Meaning = MeaningBodySaysNo
		}
	}
	return Outcome{}, v
}

// byStatus is the table for everything but 2xx.
func (c Classifier) byStatus(r Response) Verdict {
	unknown := func(m Meaning) Verdict { return Verdict{Phase: journal.PhaseSent, Meaning: m} }
	refused := func(m Meaning, final bool) Verdict {
		return Verdict{Phase: journal.PhaseRefused, Final: final, Meaning: m}
	}
	switch {
	case r.Status >= 500, r.Status == http.StatusRequestTimeout:
		// A gateway's 502, 503 and 504 say nothing about what stands behind it.
		return unknown(MeaningServerError)
	case r.Status == http.StatusTooManyRequests, r.Status == http.StatusForbidden && rateLimited(r.Header):
		return refused(MeaningRateLimited, false)
	case r.Status == http.StatusTooEarly, r.Status == http.StatusMisdirectedRequest:
		// RFC 8470, section 5.2, and RFC 9110, section 15.5.20: not processed.
		return refused(MeaningTooEarly, false)
	case r.Status == http.StatusTemporaryRedirect, r.Status == http.StatusPermanentRedirect:
		// RFC 9110, section 15.4.8: asks for the same request elsewhere.
		return refused(MeaningRefused, true)
	case r.Status < 400:
		return unknown(MeaningUnclear) // 303 often follows success
	}
	return c.byCode(r)
}

// byCode tells the meanings of a 4xx apart, of a 409 above all. A 409 without a
// known code may be any of them, so its outcome is unknown.
func (c Classifier) byCode(r Response) Verdict {
	switch m := c.meaning(r.Body); m {
	case MeaningKeyInProgress:
		return Verdict{Phase: journal.PhaseSent, Meaning: m}
	case MeaningSeenBefore:
		return Verdict{Phase: journal.PhaseSent, Meaning: m, Replayed: true}
	case MeaningRateLimited, MeaningTooEarly:
		return Verdict{Phase: journal.PhaseRefused, Meaning: m}
	case MeaningServerError, MeaningUnclear, MeaningNoAnswer, MeaningUnparsable:
		return Verdict{Phase: journal.PhaseSent, Meaning: m}
	case MeaningExists:
		if c.ExistsIsOurs {
			return Verdict{Phase: journal.PhaseSent, Meaning: m, Replayed: true}
		}
		return Verdict{Phase: journal.PhaseRefused, Final: true, Meaning: m}
	case MeaningConflict, MeaningRefused:
		return Verdict{Phase: journal.PhaseRefused, Final: true, Meaning: m}
	}
	if r.Status == http.StatusConflict {
		return Verdict{Phase: journal.PhaseSent, Meaning: MeaningUnclear}
	}
	return Verdict{Phase: journal.PhaseRefused, Final: true, Meaning: MeaningRefused}
}

// rateLimited recognises a 403 that means "slow down": GitHub answers its rate
// limits with 403 or 429, with retry-after or x-ratelimit-remaining: 0
// (https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api).
func rateLimited(h http.Header) bool {
	return h.Get("Retry-After") != "" || h.Get("X-Ratelimit-Remaining") == "0"
}
