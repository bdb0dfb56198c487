// Package graphfake is an Exchange Online mailbox in memory that speaks the part of
// Microsoft Graph which the adapter asks for, with the token server in front of it:
// lists of messages with $filter, messages by id with $select and $expand, and
// folders. It is for tests only.
//
// It owns its messages and the faults that it plays. As Graph does, it keeps an
// immutable id and gives another one unless that is asked for; takes the value of an
// extended property without regard to case; refuses $orderby beside $filter; brings
// nothing for a filter that is not percent-encoded; keeps an accepted message in
// Drafts until it is moved; and leaves recoverable items out of the list of all
// messages. What it leaves out: every method that changes something, and filters
// that the adapter does not use.
package graphfake
