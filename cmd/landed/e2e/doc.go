// Package e2e tests the whole road on the real binary: a worker process that is
// killed between the call and its commit, the alert, the link in it, the real
// login page of a real identity provider, the decision, the worker that takes it
// up, and the audit trail; and what /providers says of the mailbox; in a real
// browser, at desktop and phone width and without scripts.
//
// It is a module of its own, so that Dex and the browser driver stay out of the
// product's dependencies. It holds tests only.
package e2e
