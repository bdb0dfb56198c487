// Package oauth gets the OAuth 2.0 access tokens that adapters prove themselves
// with, and keeps one until shortly before its end.
//
// It owns the three grants that need nobody at a browser: client credentials (RFC
// 6749, section 4.4), refresh token (section 6) and a signed assertion (RFC 7523,
// section 2.1) as Google's service accounts make it, see
// developers.google.com/identity/protocols/oauth2/service-account. What a token
// may do is said by its adapter. Where the request goes is said by the adapter as
// well: its egress client lets through the hosts of its configuration only, and a
// key file that names another token address is refused.
package oauth
