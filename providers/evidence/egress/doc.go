// Package egress is the way out: an HTTP client that talks to allow-listed hosts
// only, whatever a name resolves to and wherever a server wants to send it.
//
// It owns the check of addresses at dial time, the refusal of redirects to other
// origins, and the caps on time and size. It knows no provider and holds no
// credentials: who sends a request sets its headers.
//
// The check happens after name resolution, on the address that is about to be
// connected to, so a name that changes its address between check and use gains
// nothing. No proxy is taken from the environment.
package egress
