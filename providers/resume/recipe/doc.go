// Package recipe is the target for runtimes that a file describes: one YAML file
// per way of handing a resolution over, run by one engine.
//
// It owns the file's schema and its checks, the reading of addresses, and what a
// runtime's answers mean. It knows no runtime: the recipes that come with Landed
// are in package recipes, a team may write its own. It leaves retries to package
// resume, and to package definition what files that describe services have in
// common.
//
// # What a recipe can and can't do
//
// A recipe says which requests to make and what their answers mean:
//
//   - `checks` only read (GET, or POST where the file says `reads: true` of it).
//     Each may end the delivery, with any outcome, or save something for the next
//     request. Where nothing ends it, a 2xx means: go on.
//   - `deliver` is the one request that may change something, POST or PUT.
//   - `rules` give an outcome to an answer; those of a request come before those of
//     the file, and without one the status counts: 2xx accepted, 401 and 403 auth,
//     404 unknown, 410 gone (and nothing more is sent there), 413 too_large,
//     anything else transient. `proof` is what a good answer must have: a login
//     page with status 200 is none.
//   - Redirects are answers and never followed: they would take the message, or a
//     secret, elsewhere.
//   - Secrets are visible to `auth` only. `auth` lists the ways that the runtime
//     offers; the configured secrets choose one, and must be all that it needs and
//     nothing else.
//   - In a check, what an expression can't read makes the try fail, and never lets
//     it through.
//
// # Addresses
//
// `address` declares the members that begin's resume may carry beside "to". They
// come from workers, so they are checked before anything is sent: type, pattern,
// size, no control characters; one that becomes a segment of a path is no dot
// segment and has no slash. No address can say which host is asked.
//
// # Values
//
// In a request: params, address, id (the resolution's, the dedupe key), payload
// (the whole message as JSON), data (its member), at (when it was recorded), try,
// and saved of earlier checks. In rules also body (null if it is no JSON), text,
// status and headers.
package recipe
