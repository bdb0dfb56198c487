// Package declared is the evidence adapter for providers that a file describes:
// one YAML file per way of looking, run by one engine.
//
// It owns the schema of a look and its checks, paging, the comparison of
// references, and the wording of faults. It knows no provider: the definitions
// that come with Landed are in package packs, a team may write its own. It leaves
// the verdict to package evidence, and to package definition what other files
// need as well: reading YAML, parameters and secrets, expressions, requests, and
// the way out.
//
// # What a definition can and can't do
//
// A definition says where to look, how to read the answer and which field holds
// the reference. It can't decide anything:
//
//   - `match` names the place of the reference (an expression that gives one
//     string or a list of strings). Whether it is the reference is compared by the
//     engine, byte for byte. A file without match is refused.
//   - "All pages read" is derived by the engine from the paging it did.
//   - An expression that fails (a field is missing, a cost limit is hit) makes the
//     look fail; it never makes an answer empty.
//   - Requests are GET, or POST where the file says `reads: true` of it. Secrets
//     are visible to `auth` only, never to a request's other parts or to facts.
//   - Every answer outside the declared ones is a fault: a 404 counts as "not
//     there" only where `absent` says how to tell it from a missing endpoint.
//
// # Values
//
// A value that goes into a request is a text with expressions in it, as in
// "cf_${params.field}". The place gives the outer encoding (path segment, query,
// header, JSON, form), and `lang` the inner one: inside a query language every
// expression becomes one quoted literal of that language, so it can't end early.
// See definition.Lang. Expressions are CEL (github.com/google/cel-go), with a limit on cost.
//
// # Identity
//
// The SHA-256 of the file is part of the sheet's version, so each piece of
// evidence tells which definition it was looked up by.
package declared
