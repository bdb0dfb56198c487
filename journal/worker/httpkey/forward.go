package httpkey

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"

	"github.com/landedhq/landed/journal/worker"
)

// Forward returns a handler that hands requests to an upstream: what stands
// behind the guard of a proxy. Guard it with Tracked, as it sends by
// worker.Transport. base gives dialer, proxy and TLS settings; nil =
// http.DefaultTransport's.
//
// Every request that may change things gets a connection of its own, guarded or
// not: Go's transport repeats requests that carry Idempotency-Key when a
// connection breaks that was used before. The upstream sees its own host, this
// proxy's client in X-Forwarded-For, and nothing that the client claimed about
// itself there.
func Forward(upstream *url.URL, base *http.Transport, log *slog.Logger) (http.Handler, error) {
	if upstream == nil || upstream.Host == "" || upstream.Scheme != "http" && upstream.Scheme != "https" || upstream.RawQuery != "" || upstream.Fragment != "" || upstream.User != nil {
		return nil, fmt.Errorf("the upstream %v must be an http or https URL without user, query and fragment", upstream)
	}
	if base == nil {
		base, _ = http.DefaultTransport.(*http.Transport)
	}
	if base == nil { // somebody replaced the default
		base = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	if log == nil {
		log = slog.Default()
	}
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(upstream)
			p.Out.URL.RawQuery = p.In.URL.RawQuery // as it came: nothing here reads it
			p.SetXForwarded()
		},
		Transport:      newRoads(base),
		ModifyResponse: watchBody,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if Fail(r.Context(), err) {
				return
			}
			log.Warn("the upstream gave no answer", "method", r.Method, "path", r.URL.Path, "error", err)
			problem{Status: http.StatusBadGateway, Code: CodeUnreachable, Title: "The upstream gave no answer",
				Detail: "The upstream could not be reached, or broke off before it answered."}.write(w, "")
		},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}, nil
}

// roads sends what is guarded by the worker's transport, and the rest by one that
// never repeats what changes things.
type roads struct {
	guarded *worker.Transport
	reads   *http.Transport
	single  *http.Transport
}

func newRoads(base *http.Transport) *roads {
	single := base.Clone()
	single.DisableKeepAlives = true
	return &roads{guarded: worker.NewTransport(base), reads: base.Clone(), single: single}
}

// RoundTrip implements http.RoundTripper.
func (t *roads) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := worker.Effect(r.Context()); err == nil {
		return t.guarded.RoundTrip(r)
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return t.reads.RoundTrip(r)
	}
	return t.single.RoundTrip(r)
}

// watchBody notes a guarded answer that breaks off: what came of it may look
// whole to whoever only sees what was copied.
func watchBody(r *http.Response) error {
	if _, ok := r.Request.Context().Value(exchangeKey{}).(*exchange); ok && r.StatusCode != http.StatusSwitchingProtocols {
		r.Body = &watchedBody{ReadCloser: r.Body, from: r.Request}
	}
	return nil
}

type watchedBody struct {
	io.ReadCloser
	from *http.Request
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		Fail(b.from.Context(), fmt.Errorf("reading the upstream's answer: %w", err))
	}
	return n, err
}
