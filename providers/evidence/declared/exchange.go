package declared

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/definition"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/faults"
	"github.com/landedhq/landed/providers/evidence/oauth"
)

// maxExchanges caps the exchanges kept of one look; the first ones say most.
const maxExchanges = 12

// answer is one answer of the provider, as expressions see it.
type answer struct {
	vars   definition.Vars
	absent bool
	links  []string // Link headers
	a      *Adapter
	from   *url.URL
}

// resolve turns a next address into one that may be asked: the same origin, or a
// host that the definition names.
func (a *answer) resolve(next string) (*url.URL, error) {
	ref, err := url.Parse(next)
	if err != nil {
		return nil, errors.New("the next page's address can't be parsed")
	}
	u := a.from.ResolveReference(ref)
	if u.User != nil || u.Scheme != a.from.Scheme || !slices.Contains(a.a.account.Hosts, u.Host) {
		return nil, errOffHost(u.Host)
	}
	return u, nil
}

// exchange sends one request and reads its answer. Rules of the definition come
// first, then absent, then the status.
func (l *look) exchange(ctx context.Context, b *definition.Built, st *step, v definition.Vars) (*answer, error) {
	if l.requests++; l.requests > maxRequests {
		return nil, &evidence.ProviderError{Kind: evidence.FaultTooLarge, Detail: fmt.Sprintf("the look would need more than %d requests", maxRequests)}
	}
	resp, raw, body, err := l.send(ctx, b)
	if err != nil {
		return nil, err
	}
	a := &answer{links: resp.Header.Values("Link"), a: l.s.a, from: b.URL, vars: v.With(definition.AnswerVars(resp, body))}
	for _, rules := range [][]*rule{st.errors, l.s.a.def.errors} {
		if err := l.judgeRules(ctx, rules, a.vars, resp); err != nil {
			return nil, err
		}
	}
	if st.absent != nil {
		// An expression that fails on this answer does not recognise it.
		if a.absent, err = st.absent.Bool(ctx, a.vars); err == nil && a.absent {
			return a, nil
		}
	}
	if resp.StatusCode == http.StatusUnauthorized {
		l.s.open.Refused(ctx)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, faults.Status(resp, l.s.a.title())
	}
	if body == nil && strings.TrimSpace(string(raw)) != "null" {
		return nil, &evidence.ProviderError{Kind: evidence.FaultBadAnswer, Detail: "the answer of " + l.s.a.title() + " is no JSON but perhaps a login or maintenance page"}
	}
	return a, nil
}

// judgeRules returns the fault of the first rule that applies. A rule that fails
// on this answer does not apply: what it can't read, items can't either.
func (l *look) judgeRules(ctx context.Context, rules []*rule, v definition.Vars, resp *http.Response) error {
	for _, r := range rules {
		if on, err := r.when.Bool(ctx, v); err != nil || !on {
			continue
		}
		pe := &evidence.ProviderError{Kind: r.kind, Detail: r.detail, RetryAfter: faults.RetryAfter(resp.Header, time.Now()), Err: fmt.Errorf("HTTP status %d", resp.StatusCode)}
		if r.retryAfter != nil {
			if secs, err := r.retryAfter.Int(ctx, v); err == nil {
				pe.RetryAfter = faults.Bounded(float64(secs))
			}
		}
		return pe
	}
	return nil
}

// send sends with credentials and keeps the exchange without them. body is nil
// where the answer is no JSON.
func (l *look) send(ctx context.Context, b *definition.Built) (resp *http.Response, raw []byte, body any, err error) {
	who := l.s.a.title()
	var start time.Time
	resp, err = l.s.open.Send(ctx, b, l.tokenAsked, func() { start = time.Now() })
	if err != nil && start.IsZero() {
		return nil, nil, nil, err // there was no token, or the request can't be built
	} else if err != nil {
		l.record(b, "no answer", "", start)
		return nil, nil, nil, faults.Transport(err, who)
	}
	defer resp.Body.Close()
	raw, err = io.ReadAll(resp.Body)
	status := resp.Status + "\nContent-Type: " + resp.Header.Get("Content-Type")
	if ra := resp.Header.Get("Retry-After"); ra != "" {
		status += "\nRetry-After: " + ra
	}
	if err != nil {
		l.record(b, status, fmt.Sprintf("(broken off after %d bytes)", len(raw)), start)
		return nil, nil, nil, faults.Transport(err, who)
	}
	kept := fmt.Sprintf("(%d bytes that are no JSON)", len(raw))
	if x, jerr := definition.DecodeJSON(raw); jerr == nil {
		body, kept = x, definition.Redacted(l.s.a.def.redact, x)
	}
	l.record(b, status, kept, start)
	return resp, raw, body, nil
}

// tokenAsked keeps a token request, without its body and the answer's.
func (l *look) tokenAsked(method string, u *url.URL, status string, start time.Time) {
	l.record(&definition.Built{Method: method, URL: u}, status, oauth.NotKept, start)
}

// record keeps an exchange: the request line and body without credentials, and
// of the answer the status, two headers and the redacted body.
func (l *look) record(b *definition.Built, status, body string, start time.Time) {
	if len(l.ans.Exchanges) >= maxExchanges {
		return
	}
	request := b.Method + " " + b.URL.RequestURI()
	if len(b.Body) > 0 {
		request += "\nContent-Type: " + b.Kind + "\n\n" + string(b.Body)
	}
	if body != "" {
		status += "\n\n" + body
	}
	l.ans.Exchanges = append(l.ans.Exchanges, journal.Exchange{
		Request: evidence.CapText(l.s.open.Clean(request)), Response: evidence.CapText(l.s.open.Clean(status)), Took: time.Since(start),
	})
}
