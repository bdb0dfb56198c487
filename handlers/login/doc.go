// Package login signs people in at the organisation's identity provider and
// keeps their sessions.
//
// It owns the OpenID Connect flow (authorization code with PKCE, state, nonce),
// the translation of groups into roles, the session cookie and what it stands
// for, the per-session form token, and the middleware that lets nobody past
// without a session. It does not own pages (errors are typed, see Error),
// authorisation of single actions (journal.Actor says what a person may do), or
// the storage of sessions (SessionStore).
//
//	no session ──GET a page──► /login?to=… ──► identity provider
//	     ▲                                          │
//	     │ logout · idle · absolute limit           ▼
//	 session ◄──new token, old one killed── /login/callback
//
// What the browser holds: one opaque session token, and during a sign-in one
// encrypted cookie with the flow's secrets and the page to return to. The
// database holds the token's SHA-256 only.
//
// Nothing about the request decides where the flow goes: redirect_uri comes from
// Config.ExternalURL alone, whatever Host or X-Forwarded-* say.
package login
