// Package graph sends mail through Microsoft Graph in two steps: POST …/messages
// makes a draft, then POST …/messages/{id}/send sends it. The immutable id is
// journaled in between.
//
// It owns the requests, what their answers mean, and what the evidence adapter of
// the same name looks for: the extended property Property and the header
// x-landed-ref. Authentication is the caller's: the client needs
// Mail.ReadWrite for the draft and Mail.Send for sending it.
//
// # What a message's id tells later
//
// With Prefer: IdType="ImmutableId" on every request the id stays when the message
// moves, so the id of the draft is that of the copy in Sent Items; that copy exists
// only once the message was sent, which may take time
// (learn.microsoft.com/graph/outlook-immutable-id). So a message that is no draft was
// sent; one that is not there was deleted, or is on its way: a staged.GoneError, and
// no second one is made. A draft in the Outbox is on its way; one in Deleted Items was
// thrown away. The id does change when the message is moved to an archive mailbox.
//
// A send is answered 202 while the message is still in Drafts
// (learn.microsoft.com/graph/outlook-things-to-know-about-send-mail): so a draft there
// is proof only after some minutes. The journal sees to that, as it hands out no
// further attempt at once while an earlier one may have landed; so the tool's class is
// at_most_once or journal_deduped, and never provider_idempotent.
//
// # Facts
//
//   - POST /me/messages answers 201 and the message; internetMessageHeaders and
//     extended properties can be set only at creation
//     (learn.microsoft.com/graph/api/user-post-messages, …/graph/api/resources/message).
//   - Sending answers 202 with no body: the commit's provider id is the journaled
//     one (learn.microsoft.com/graph/api/message-send).
//   - Well-known folder names, outbox among them: …/graph/api/resources/mailfolder.
//   - A slash in an id is encoded twice
//     (github.com/microsoftgraph/microsoft-graph-docs/issues/10167).
//   - There is no idempotency key.
package graph
