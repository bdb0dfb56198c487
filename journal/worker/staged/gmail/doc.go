// Package gmail sends mail through the Gmail API in two steps: drafts.create, then
// drafts.send. The draft's id is journaled in between.
//
// It owns the requests, what their answers mean, and the two carriers of the
// reference that the evidence adapter of the same name looks for: the header
// X-Landed-Ref and the Message-ID <reference@effects.landed>. Users report that
// the API puts a Message-ID of its own in its place, and Gmail's search knows no
// header of ours; so write BodyLine into the text as well, if people may see it.
// Authentication is the caller's: the client needs the scopes gmail.compose, and
// gmail.readonly or gmail.modify for the look at a draft that is used up.
//
// # What a draft's id tells later
//
// While drafts.get finds the draft it was not sent. Sending deletes the draft and
// makes a message with another id and the label SENT
// (developers.google.com/gmail/api/guides/drafts). So a draft that is gone was sent
// or discarded: the thread that is journaled beside it is read by its id, and then
// the mailbox searched; a message counts only if it is SENT and carries the
// reference in a header. That a message stays in its draft's thread is what the
// API shows, and is not promised; the search may lag. A draft that is gone without
// such a message is therefore a staged.GoneError, and no second one is made.
//
// # Facts
//
//   - Draft ids are immutable, message ids change with every replacement
//     (developers.google.com/gmail/api/reference/rest/v1/users.drafts).
//   - drafts.send takes {"id": …} and answers the message
//     (…/rest/v1/users.drafts/send); threads.get with format=metadata gives labels and
//     the asked headers (…/rest/v1/users.threads/get); messages.list takes q and
//     includeSpamTrash (…/rest/v1/users.messages/list).
//   - 403 with rateLimitExceeded, userRateLimitExceeded or dailyLimitExceeded, and
//     429, are limits and not refusals (…/guides/handle-errors).
//   - There is no idempotency key.
package gmail
