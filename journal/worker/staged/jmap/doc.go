// Package jmap sends mail over JMAP in two steps: Email/set makes a draft, then
// EmailSubmission/set sends it and moves it to Sent. The message's id is journaled
// in between.
//
// It owns the requests, what their answers mean, and what the evidence adapter of
// the same name looks for: the header X-Landed-Ref, the Message-ID
// <reference@effects.landed>, and the handle "email". Authentication is the
// caller's; the credentials need mail and submission, both with writing.
//
// # What a message's id tells later
//
// The id stays when the message moves. A submission for it that was not canceled
// means that it was sent. Servers may forget submissions once they are final; then
// the message tells: with the keyword $draft, or only in Drafts, it was not sent,
// else it was (the submission takes the keyword away). One that was destroyed or
// moved to the trash, or whose submission a person canceled, is a staged.GoneError.
//
// # Facts
//
//   - EmailSubmission/set creates a submission of an emailId by an identityId;
//     onSuccessUpdateEmail patches the message only if that succeeded, as an implicit
//     Email/set with a response of its own under the same call id (RFC 8621,
//     section 7.5). undoStatus is pending, final or canceled (section 7).
//   - EmailSubmission/query filters by emailIds (RFC 8621, section 7.3).
//   - A created object comes under "created", a refused one under "notCreated" with
//     a type; rateLimit may work later (RFC 8620, section 5.3).
//   - A failed method answers "error" under status 200. With the exception of
//     serverPartialFail it has changed nothing, and an unknown type is to be read as
//     serverFail (RFC 8620, section 3.6.2); a failed request answers problem details
//     (section 3.6.1).
//   - There is no idempotency key.
package jmap
