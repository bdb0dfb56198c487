// Package sqltest has the servers that the tests of package sql look at: a relay
// in front of the private PostgreSQL that keeps what clients send, and a standby
// of it. It is for tests only.
package sqltest
