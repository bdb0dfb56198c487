// Package imaptest holds IMAP servers for tests: a real Dovecot as a child
// process, and a scripted server that misbehaves on demand and records every
// command. It is for tests only.
package imaptest
