package login

import (
	"net/url"
	"slices"
	"strings"
)

// maxReturn is the longest address that a sign-in returns to. It travels in the
// flow cookie, whose Set-Cookie stays below 1 kB. Of a longer one the query is
// given up.
const maxReturn = 512

// returnPath makes a local path and query out of what the address bar said, or
// "/". It never leads off the site, nor back into the login.
func returnPath(s string) string {
	if !strings.HasPrefix(s, "/") || strings.ContainsRune(s, '\\') {
		return "/"
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" {
		return "/"
	}
	if !plainPath(u.Path) || isPrivatePath(u.Path) {
		return "/"
	}
	out := u.EscapedPath()
	if u.RawQuery != "" && len(out)+1+len(u.RawQuery) <= maxReturn {
		out += "?" + u.RawQuery
	}
	if len(out) > maxReturn {
		return "/"
	}
	return out
}

// plainPath: no part that a browser, a proxy or a router could read in two ways
// once it is decoded.
func plainPath(p string) bool {
	for _, r := range p {
		if r < ' ' || r == 0x7f || r == '\\' {
			return false
		}
	}
	parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
	for i, part := range parts {
		if part == "." || part == ".." || part == "" && i < len(parts)-1 {
			return false
		}
	}
	return true
}

// isPrivatePath: what is no page to come back to.
func isPrivatePath(p string) bool {
	p = strings.TrimSuffix(p, "/")
	return slices.Contains([]string{PathLogin, PathLogout, "/healthz", "/readyz", "/v1"}, p) ||
		strings.HasPrefix(p, PathLogin+"/") || strings.HasPrefix(p, "/v1/") || strings.HasPrefix(p, "/static/")
}
