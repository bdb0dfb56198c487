// Package workertest holds the worker cases that every journal must pass
// (RunCases, run on the store and on the HTTP client), a journal in memory for
// tests of the worker's loop, and a counting fake provider. It is for tests
// only; nothing outside _test.go files and other test packages may import it.
package workertest
