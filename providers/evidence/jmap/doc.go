// Package jmap is the evidence adapter for a mail account over JMAP (RFC 8620 and
// RFC 8621), as Fastmail, Cyrus, Stalwart and James serve it.
//
// It owns the way of looking: messages and submissions whose ids the worker
// journaled are read by id; then the whole account, every mailbox with Trash and
// Junk, is searched for the reference in two header fields, and each hit is
// compared here byte for byte. The methods it calls are Mailbox/get, Email/query,
// Email/get, EmailSubmission/query and EmailSubmission/get; no other exists here.
// The verdict is package evidence's. Package jmapfake below it is the server of
// its tests.
//
// # What a message's place means
//
// A draft ($draft, or only in the mailbox with the role drafts) without submission
// did not take effect. A submission says the rest: pending is still to be sent and
// may be cancelled, canceled never left, final did (RFC 8621, section 7,
// undoStatus). Any other message is a sent one. One with Received fields outside the
// mailbox with the role sent was delivered to the account: beside one sent copy it
// is no second mail.
//
// # What a worker must do
//
// Set the fields that Properties gives when it creates the message, journal the
// message's id before it submits it (HandleEmail), and let the submission move the
// message to Sent with onSuccessUpdateEmail. One that uses onSuccessDestroyEmail
// leaves nothing to be found: then an empty answer proves nothing, and
// Config.CopyKept must stay false.
//
// # Facts
//
//   - The condition "header" has a name and a text; how texts match is left to the
//     server, without regard to case (RFC 8621, section 4.4.1). So hits are only
//     candidates.
//   - Email/query answers position, ids and, if asked, total; a server may give
//     fewer than asked; queryState tells a changed result (RFC 8620, section 5.5).
//   - A failed method answers "error" with a type under status 200; a failed
//     request answers problem details (RFC 8620, sections 3.6.1 and 3.6.2).
//   - Fastmail: session at https://api.fastmail.com/jmap/session, a bearer token
//     with scopes that can be made read-only
//     (fastmail.com/developer/integrating-with-fastmail). Give it Email and Email
//     submission, read-only.
//   - Message-ID and a header of our own, since some relays replace the first and
//     some libraries drop the second; they are those of package imap.
//
// No figure is published for how soon a search shows a new message: the default
// index lag is a margin.
package jmap
