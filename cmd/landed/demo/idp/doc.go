// Package idp is a sandbox identity provider: an OpenID Connect provider with a
// page on which the visitor picks one of a few people instead of typing a
// password. `landed demo` runs it on loopback, so that signing in, roles and
// four-eyes can be tried without a directory.
//
// It owns the people, the page, the authorization code flow with PKCE, the
// signing key (fresh at every start) and the ID tokens. The protocol side is the
// real thing: one registered client, exact redirect URI, S256 only, codes that
// work once and for a minute, RS256 signatures. There are no passwords: whoever
// reaches it may be anyone, which is why it refuses to be anything but local
// unless Config.AnyHost says otherwise.
package idp
