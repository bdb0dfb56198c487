// Package graph is the evidence adapter for an Exchange Online mailbox over
// Microsoft Graph.
//
// It owns the way of looking: messages whose immutable ids the worker journaled are
// read by id; then every folder of the mailbox, and what was deleted and can still
// be recovered, is filtered by an extended property of ours and by
// internetMessageId; and each hit is read again and compared here byte for byte. It
// sends GET requests only, beside the one that gets a token. The verdict is package
// evidence's. Package graphfake below it is the server of its tests.
//
// # Which carrier can be trusted
//
// The extended property Property: it is kept with the message in the sender's
// mailbox, whatever the sending path does to header fields, and can be filtered. A
// filter takes its value without regard to case, so hits are only candidates
// (learn.microsoft.com/graph/api/singlevaluelegacyextendedproperty-get). A worker
// that sends MIME can't set it in the same request: it writes the header fields,
// and Message-ID is what finds the mail. internetMessageHeaders can't be filtered;
// our header field there proves a mail that another way found.
//
// # What became of a message
//
// A send is answered 202 while the message is still in Drafts; the transport
// service picks it up and only then is it moved to Sent Items
// (learn.microsoft.com/graph/outlook-things-to-know-about-send-mail). So a draft may
// be on its way: it is pending until the window of the look is over, and after that
// only in the Outbox; else it was not sent. A worker that defers its mails gives a
// ProcessingHorizon longer than that. Every other message was, unless it has Received fields: then it
// was delivered to the mailbox, and beside one sent copy it is no second mail.
//
// # Facts
//
//   - With Prefer: IdType="ImmutableId" a message keeps its id when it is moved and
//     when a draft is sent (learn.microsoft.com/graph/outlook-immutable-id). The
//     default id changes: a worker that journals it has a handle that leads nowhere.
//   - /users/{id}/messages covers every folder with Deleted Items; a page may hold
//     nothing and still name a next one; with $filter an $orderby of another property
//     is refused as InefficientFilter, so none is sent
//     (learn.microsoft.com/graph/api/user-list-messages, …/graph/paging).
//     recoverableitemsdeletions is a folder of its own
//     (…/graph/api/resources/mailfolder).
//   - Values are percent-encoded and single quotes doubled
//     (…/graph/query-parameters); an id with unencoded characters brings an empty
//     list with status 200 (github.com/microsoftgraph/microsoft-graph-docs/issues/4101).
//     A slash in an id is encoded twice (…/microsoft-graph-docs/issues/10167).
//   - Least permission: Mail.Read, for the application
//     (…/graph/api/singlevaluelegacyextendedproperty-get); it reads every mailbox of
//     the organisation unless role-based access control for applications, or an older
//     application access policy, limits it (…/graph/auth-limit-mailbox-access). A
//     mailbox left out answers 403 ErrorAccessDenied, an unknown one 404: both are
//     blind spots, never a miss. A change of that takes an hour and more.
//   - 429 comes with Retry-After; 10,000 requests in 10 minutes and 4 at a time for
//     one application and mailbox (…/graph/throttling, …/graph/throttling-limits).
//     Requests of one look follow each other: keep the provider's concurrency below 4.
//   - Token: client credentials with scope {graph}/.default (…/graph/auth-v2-service).
//     National clouds have hosts of their own (…/graph/deployments).
//
// No figure is published for how soon the copy is in Sent Items: the default index
// lag is a margin. The archive mailbox can't be read: give the age at which the
// organisation's rules archive or delete mail as Retention.
package graph
