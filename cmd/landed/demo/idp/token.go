package idp

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
)

// token trades a code for an ID token (RFC 6749 4.1.3, RFC 7636 4.6).
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		tokenError(w, http.StatusBadRequest, "invalid_request")
		return
	}
	if !p.client(r) {
		w.Header().Set("WWW-Authenticate", `Basic realm="sandbox"`)
		tokenError(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	if r.PostForm.Get("grant_type") != "authorization_code" {
		tokenError(w, http.StatusBadRequest, "unsupported_grant_type")
		return
	}
	g, ok := p.takeCode(r.PostForm.Get("code"))
	sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	challenge := base64.RawURLEncoding.EncodeToString(sum[:])
	if !ok || r.PostForm.Get("redirect_uri") != p.cfg.RedirectURI || !same(challenge, g.challenge) {
		tokenError(w, http.StatusBadRequest, "invalid_grant")
		return
	}
	access := random(32)
	id, err := p.idToken(g, access)
	if err != nil {
		tokenError(w, http.StatusInternalServerError, "server_error")
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": int(tokenLife.Seconds()), "id_token": id})
}

func tokenError(w http.ResponseWriter, status int, code string) {
	writeJSON(w, status, map[string]string{"error": code})
}

// client checks the secret, from the Basic header (form-encoded first, RFC 6749
// 2.3.1) or the form.
func (p *Provider) client(r *http.Request) bool {
	id, secret, ok := r.BasicAuth()
	if ok {
		var err1, err2 error
		id, err1 = url.QueryUnescape(id)
		secret, err2 = url.QueryUnescape(secret)
		if err1 != nil || err2 != nil {
			return false
		}
	} else {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	return same(id, p.cfg.ClientID) && same(secret, p.cfg.ClientSecret)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// takeCode uses the code up, whatever comes of it.
func (p *Provider) takeCode(code string) (grant, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, ok := p.codes[code]
	delete(p.codes, code)
	return g, ok && p.cfg.Clock().Sub(g.at) <= codeLife
}

func (p *Provider) idToken(g grant, access string) (string, error) {
	now := p.cfg.Clock()
	half := sha256.Sum256([]byte(access))
	claims := map[string]any{
		"iss": p.cfg.Issuer, "sub": g.person.Subject, "aud": p.cfg.ClientID,
		"iat": now.Unix(), "exp": now.Add(tokenLife).Unix(), "auth_time": g.at.Unix(),
		"at_hash":            base64.RawURLEncoding.EncodeToString(half[:16]),
		"name":               g.person.Name,
		"preferred_username": g.person.Username,
		"groups":             g.person.Groups,
	}
	if g.nonce != "" {
		claims["nonce"] = g.nonce
	}
	if g.person.Email != "" {
		claims["email"] = g.person.Email
	}
	if p.cfg.Hooks.Claims != nil {
		p.cfg.Hooks.Claims(g.person, claims)
	}
	if p.cfg.Hooks.Sign != nil {
		return p.cfg.Hooks.Sign(claims, p.Sign)
	}
	return p.Sign(claims)
}
