// Package definition is what files that describe a service have in common,
// whether it is asked (package evidence/declared) or told something (package
// resume/recipe): one YAML file per thing, compiled once, run by one engine.
//
// It owns strict reading with line numbers, parameters and secrets, expressions,
// texts and the languages they are written in, requests, ways of proving who
// asks, the check of addresses and the way out, and what is never kept of an
// answer. It does not own what a file means: its steps and what its answers say
// are the two packages' own.
//
// # Values
//
// A value that goes into a request is a Text: literals with expressions in it, as
// in "cf_${params.field}". The place gives the outer encoding (path segment,
// query, header, JSON, form), and Lang the inner one: inside a query language
// every expression becomes one quoted literal of that language, so it can't end
// early. A value can never change a path's structure: its segments are escaped,
// and an empty one, "." and ".." are refused. Expressions are CEL
// (github.com/google/cel-go), with a limit on cost.
//
// # Secrets
//
// Secret parameters are variables of Compiler.Secret only, which Auth alone is
// compiled in. They are read when a Session is opened and forgotten when it is
// closed; Session.Clean takes them out of what a service echoes.
package definition
