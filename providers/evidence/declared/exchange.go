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
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/faults"
)

// maxExchanges caps the exchanges kept of one look; the first ones say most.
const maxExchanges = 12

// answer is one answer of the provider, as expressions see it.
type answer struct {
	vars   vars
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
	if u.User != nil || u.Scheme != a.from.Scheme || !slices.Contains(a.a.hosts, u.Host) {
		return nil, errOffHost(u.Host)
	}
	return u, nil
}

// exchange sends one request and reads its answer. Rules of the definition come
// first, then absent, then the status.
func (l *look) exchange(ctx context.Context, b *built, st *step, v vars) (*answer, error) {
	if l.requests++; l.requests > maxRequests {
		return nil, &evidence.ProviderError{Kind: evidence.FaultTooLarge, Detail: fmt.Sprintf("the look would need more than %d requests", maxRequests)}
	}
	resp, raw, body, err := l.send(ctx, b)
	if err != nil {
		return nil, err
	}
	headers := map[string]string{}
	for k, vs := range resp.Header {
		headers[strings.ToLower(k)] = strings.Join(vs, ", ")
	}
	a := &answer{links: resp.Header.Values("Link"), a: l.s.a, from: b.url,
		vars: v.with(vars{"body": body, "status": resp.StatusCode, "headers": headers})}
	for _, rules := range [][]*rule{st.errors, l.s.a.def.errors} {
		if err := l.judgeRules(ctx, rules, a.vars, resp); err != nil {
			return nil, err
		}
	}
	if st.absent != nil {
		// An expression that fails on this answer does not recognise it.
		if a.absent, err = st.absent.bool(ctx, a.vars); err == nil && a.absent {
			return a, nil
		}
	}
	if resp.StatusCode == http.StatusUnauthorized {
		l.s.a.tokens.Drop(ctx, strings.TrimPrefix(l.s.creds.value, "Bearer "))
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
func (l *look) judgeRules(ctx context.Context, rules []*rule, v vars, resp *http.Response) error {
	for _, r := range rules {
		if on, err := r.when.bool(ctx, v); err != nil || !on {
			continue
		}
		pe := &evidence.ProviderError{Kind: r.kind, Detail: r.detail, RetryAfter: faults.RetryAfter(resp.Header, time.Now()), Err: fmt.Errorf("HTTP status %d", resp.StatusCode)}
		if r.retryAfter != nil {
			if secs, err := r.retryAfter.int(ctx, v); err == nil {
				pe.RetryAfter = faults.Bounded(float64(secs))
			}
		}
		return pe
	}
	return nil
}

// send sends with credentials and keeps the exchange without them. body is nil
// where the answer is no JSON.
func (l *look) send(ctx context.Context, b *built) (resp *http.Response, raw []byte, body any, err error) {
	who := l.s.a.title()
	if l.s.a.def.auth.kind == "oauth2" {
		token, err := l.token(ctx)
		if err != nil {
			return nil, nil, nil, err
		}
		l.s.creds.header, l.s.creds.value = "Authorization", "Bearer "+token
		if !slices.Contains(l.s.creds.hide, token) {
			l.s.creds.hide = append(l.s.creds.hide, token)
		}
	}
	req, err := l.s.creds.apply(ctx, b)
	if err != nil {
		return nil, nil, nil, &unusable{err}
	}
	req.Header.Set("User-Agent", "landed/declared")
	start := time.Now()
	if resp, err = l.s.a.client.Do(req); err != nil {
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
	if x, jerr := decodeJSON(raw); jerr == nil {
		body, kept = x, redacted(l.s.a.def.redact, x)
	}
	l.record(b, status, kept, start)
	return resp, raw, body, nil
}

// record keeps an exchange: the request line and body without credentials, and
// of the answer the status, two headers and the redacted body.
func (l *look) record(b *built, status, body string, start time.Time) {
	if len(l.ans.Exchanges) >= maxExchanges {
		return
	}
	request := b.method + " " + b.url.RequestURI()
	if len(b.body) > 0 {
		request += "\nContent-Type: " + b.kind + "\n\n" + string(b.body)
	}
	if body != "" {
		status += "\n\n" + body
	}
	l.ans.Exchanges = append(l.ans.Exchanges, journal.Exchange{
		Request: evidence.CapText(l.s.clean(request)), Response: evidence.CapText(l.s.clean(status)), Took: time.Since(start),
	})
}
