// Package handlers answers requests: it parses, calls, builds the page and
// renders it. One file per page or action.
//
// It owns the routes of the pages, the middleware around them (request ids,
// security headers, same-site and form-token checks, body limits), the table
// that turns errors into answers, and the pure builders that turn the journal's
// values into page structs. It does not own who may sign in (handlers/login),
// the worker API (handlers/api), any rule of the journal, or how pages look
// (package web).
//
// GET writes nothing but the view log. Every page works without the script.
package handlers
