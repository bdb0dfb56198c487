// Package jmapfake is a mail account in memory that speaks the part of JMAP which
// the adapter asks for: the session resource, Mailbox/get, Email/query, Email/get,
// EmailSubmission/query and EmailSubmission/get, with back-references. It is for
// tests only.
//
// It owns its messages and the faults that it plays, and follows RFC 8620 and RFC
// 8621. Header conditions match a part of the value without regard to case, as the
// RFC allows. What it leaves out: every method that changes something, sorting by
// anything but age, and conditions that the adapter does not use.
package jmapfake
