// Package gmail is the evidence adapter for a Gmail mailbox over the Gmail API.
//
// It owns the way of looking: drafts, messages and threads whose ids the worker
// journaled are read by id; then the whole mailbox, Spam and Trash included, is
// searched for the reference as Message-ID and as a word of the text; and the
// header fields of each hit are read and compared here byte for byte. It sends GET
// requests only, beside the one that gets a token. The verdict is package
// evidence's. Package gmailfake below it is the server of its tests.
//
// # Which carrier can be trusted
//
// Header fields of our own can't be searched: the search takes the operators of
// the Gmail search box, and of header fields it knows Message-ID only
// (support.google.com/mail/answer/7190). And the Message-ID of a mail sent through
// the API is replaced: users report that a new one is written and the old one not
// kept (github.com/FlowCrypt/flowcrypt-browser/issues/4273,
// github.com/gauteh/lieer/issues/198), while over SMTP a well-formed one stays and
// another moves to X-Google-Original-Message-ID. Google documents neither. So:
//
//   - what proves a mail is X-Landed-Ref, Message-ID or
//     X-Google-Original-Message-ID, read with format=metadata;
//   - what finds it is the reference as a word of its text (Config.RefInBody), or
//     its Message-ID where a trial showed that this sending path keeps it
//     (Config.MessageIDKept). With neither, an empty answer proves nothing;
//   - a message that the search finds and whose header fields do not hold the
//     reference (a reply that quotes it) is a stranger: never a match, and never a
//     miss either.
//
// # What a message's labels mean
//
// DRAFT: it was not sent; while the window of the look is open a request in flight
// may still do so, and it is pending. When a draft is sent it is deleted, and a new message
// with a new id and the label SENT is made
// (developers.google.com/workspace/gmail/api/guides/drafts): so a draft that is
// gone proves nothing by itself. A message with neither label came from outside:
// beside one sent copy it is no second mail.
//
// # Facts
//
//   - messages.list takes q, includeSpamTrash, maxResults (500 at most) and
//     pageToken, and gives ids only; q can't be used with the scope gmail.metadata
//     (developers.google.com/workspace/gmail/api/reference/rest/v1/users.messages/list).
//     messages.get and threads.get take format=metadata with metadataHeaders;
//     drafts.get takes format only.
//   - Least scope that serves: https://www.googleapis.com/auth/gmail.readonly. A token
//     that may write or send is refused where the server says so.
//   - Too many requests: 403 with the reason rateLimitExceeded or
//     userRateLimitExceeded, or 429; 15,000 quota units a minute and user, list and
//     get cost 5 (…/gmail/api/reference/quota). Google asks for exponential back-off
//     (…/gmail/api/guides/handle-errors): each refusal in a row doubles the time
//     that Gmail is left alone.
//   - A service account signs an assertion whose sub is the mailbox; an administrator
//     grants it the scope for the domain
//     (developers.google.com/identity/protocols/oauth2/service-account).
//
// No figure is published for how soon a search shows a new message: the default
// index lag is a margin. What a person deletes for good is gone from the API, and
// retention rules of the organisation do so by age: give theirs as Retention.
package gmail
