package idp

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
)

// request is one authorization request (OpenID Connect Core 1.0, 3.1.2.1).
type request struct {
	ClientID, RedirectURI, ResponseType, Scope, State, Nonce, Challenge, Method string
}

func readRequest(v url.Values) request {
	return request{
		ClientID: v.Get("client_id"), RedirectURI: v.Get("redirect_uri"), ResponseType: v.Get("response_type"), Scope: v.Get("scope"),
		State: v.Get("state"), Nonce: v.Get("nonce"), Challenge: v.Get("code_challenge"), Method: v.Get("code_challenge_method"),
	}
}

// trusted: client and redirect URI are ours, so that answers, errors included,
// may be sent there.
func (p *Provider) trusted(q request) string {
	switch {
	case q.ClientID != p.cfg.ClientID:
		return "The application that sent you is not known here."
	case q.RedirectURI != p.cfg.RedirectURI:
		return "The application wants you back at an address that is not registered: " + q.RedirectURI
	}
	return ""
}

// fault is the protocol error of a request from a known client, "" if none.
func fault(q request) string {
	switch {
	case q.ResponseType != "code":
		return "unsupported_response_type"
	case !strings.Contains(" "+q.Scope+" ", " openid "):
		return "invalid_scope"
	case q.Method != "S256" || len(q.Challenge) != 43:
		return "invalid_request" // PKCE is a must, RFC 9700 2.1.1
	}
	return ""
}

// ask shows the page with the people.
func (p *Provider) ask(w http.ResponseWriter, r *http.Request) {
	q := readRequest(r.URL.Query())
	if why := p.trusted(q); why != "" {
		p.render(w, http.StatusBadRequest, view{Problem: why})
		return
	}
	if f := fault(q); f != "" {
		p.answer(w, r, q, url.Values{"error": {f}})
		return
	}
	p.render(w, http.StatusOK, view{People: cards(p.cfg.People), Request: q})
}

// picked handles the form: somebody was picked, or the visitor turned back.
func (p *Provider) picked(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form can't be read", http.StatusBadRequest)
		return
	}
	q := readRequest(r.PostForm)
	if why := p.trusted(q); why != "" {
		p.render(w, http.StatusBadRequest, view{Problem: why})
		return
	}
	if f := fault(q); f != "" {
		p.answer(w, r, q, url.Values{"error": {f}})
		return
	}
	for _, who := range p.cfg.People {
		if who.Subject == r.PostForm.Get("person") {
			p.answer(w, r, q, url.Values{"code": {p.newCode(who, q)}})
			return
		}
	}
	p.answer(w, r, q, url.Values{"error": {"access_denied"}})
}

// answer sends the browser back to the client.
func (p *Provider) answer(w http.ResponseWriter, r *http.Request, q request, out url.Values) {
	out.Set("iss", p.cfg.Issuer) // RFC 9207
	if q.State != "" {
		out.Set("state", q.State)
	}
	if p.cfg.Hooks.Callback != nil {
		p.cfg.Hooks.Callback(out)
	}
	sep := "?"
	if strings.Contains(q.RedirectURI, "?") {
		sep = "&"
	}
	http.Redirect(w, r, q.RedirectURI+sep+out.Encode(), http.StatusSeeOther)
}

// newCode remembers the choice under a code, and forgets what is too old.
func (p *Provider) newCode(who Person, q request) string {
	code, now := random(32), p.cfg.Clock()
	p.mu.Lock()
	defer p.mu.Unlock()
	for c, g := range p.codes {
		if now.Sub(g.at) > codeLife || len(p.codes) >= maxCodes {
			delete(p.codes, c)
		}
	}
	p.codes[code] = grant{person: who, nonce: q.Nonce, challenge: q.Challenge, at: now}
	return code
}

// view is what the page shows.
type view struct {
	Problem string
	People  []card
	Request request
	Base    string
}

type card struct {
	Person
	Initials string
}

func cards(people []Person) []card {
	out := make([]card, 0, len(people))
	for _, who := range people {
		var initials strings.Builder
		for _, part := range strings.Fields(who.Name) {
			initials.WriteRune([]rune(part)[0])
		}
		out = append(out, card{Person: who, Initials: initials.String()})
	}
	return out
}

// render writes the page. form-action names the client as well: browsers apply
// it to the redirect that answers the form.
func (p *Provider) render(w http.ResponseWriter, status int, v view) {
	v.Base = p.base
	var b bytes.Buffer
	if err := p.page.Execute(&b, v); err != nil {
		http.Error(w, "the page can't be made", http.StatusInternalServerError)
		return
	}
	client := ""
	if u, err := url.Parse(p.cfg.RedirectURI); err == nil {
		client = " " + u.Scheme + "://" + u.Host
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'"+client+"; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("X-Robots-Tag", "noindex")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

func (p *Provider) style(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "max-age=300")
	http.ServeFileFS(w, r, files, "style.css")
}
