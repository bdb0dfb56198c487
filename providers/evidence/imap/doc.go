// Package imap asks an IMAP account's Sent folder whether a mail landed.
//
// It owns the look-up (look-up class L2: an exact filter in the primary store),
// the capability sheet of a Sent folder, and the header fields that a worker
// writes so that the look-up can work (Carrier). It never sends, appends, flags
// or moves a message: mailboxes are opened with EXAMINE, headers are read with
// BODY.PEEK, and no other command that touches a message exists here.
//
// # One look
//
// The Sent folder is the mailbox that the server marks with \Sent (RFC 6154), or
// the configured one; its name is never guessed. In it the adapter searches the
// header X-Landed-Ref, then Message-ID, both by the bare reference, since the day
// before the window opened: SEARCH dates are days in a time zone that the client
// doesn't know (RFC 3501, 6.4.4: SINCE disregards time and time zone). Every hit
// is fetched again and compared byte for byte. Only these two fields count: a
// reply or a bounce quotes the reference in In-Reply-To, References or its text,
// and is not the mail.
//
// Queries are ASCII and never name a CHARSET: Exchange answers BADCHARSET to
// UTF-8. SEARCH is used in its plain form without RETURN, because iCloud
// answers an extended search with a count only
// (github.com/horde/Imap_Client/pull/17); a server with ESEARCH and SEARCHRES must
// take the plain form too (RFC 4731, RFC 5182).
//
// # Extensions
//
// They are used where the server's CAPABILITY offers them, never by its name. What
// it answers to ID (RFC 2971) is shown to people and decides nothing; Gmail
// recommends that clients send it. None is used over STARTTLS but SPECIAL-USE.
//
//   - X-GM-EXT-1 (developers.google.com/workspace/gmail/imap/imap-extensions):
//     the mailbox marked \All is looked into beside \Sent; X-GM-RAW with
//     rfc822msgid: may bring a hit, never a miss; X-GM-MSGID says that a message
//     under several labels is one; X-GM-LABELS, which leave out the open mailbox's
//     own (github.com/dlech/gmailbuttons/issues/10), tell in \All what was sent
//     from what came back to the account. A draft there is pending until the look's
//     window is over: sending takes it away.
//   - OBJECTID (RFC 8474): messages of two mailboxes with one EMAILID are one mail.
//     In one mailbox they are two: an EMAILID may follow from the content.
//   - XLIST, where neither form of LIST marks a mailbox with \Sent.
//   - UTF8=ONLY (RFC 9755, which obsoletes RFC 6855): UTF8=ACCEPT is enabled, since
//     nothing works before. With UTF8=ACCEPT alone nothing needs it.
//
// # Two copies of one mail
//
// Gmail saves what is sent through it to \Sent with a Received field, unless a
// message with its Message-ID and Date is there
// (github.com/nodemailer/wildduck/wiki/Gmail-sending, measured); where the sending
// path appends it too, there may be two. So a message without Received and one with
// it, that agree in Message-ID, Date, From, To and Subject, are one mail. More than
// one of either is a duplicate. The other way round, a second sending with the very
// Date of the first may leave no second copy at Gmail: it is found, but does not
// show as a duplicate.
//
// # Servers whose header search can't be trusted
//
// Some servers refuse a HEADER search (iCloud, where the field name is quoted:
// github.com/mscdex/node-imap/issues/775; go-imap always quotes it), others
// always answer with nothing (Yahoo: github.com/MailCore/mailcore2/issues/823).
// Others match by words or substrings (which the comparison takes care of), or
// answer from an index that lags. So an empty answer is believed only when the same
// kind of search finds the newest message of the mailbox, and an older one, by their
// own headers, and the newest 50 were read and don't carry the reference. Else, and
// after a refusal, the newest messages are read, at most Config.MaxScan of them, and
// compared here. What that bound leaves out makes the answer incomplete.
//
// # Figures of the sheet
//
// Processing horizon 10 minutes: RFC 5321, 4.5.3.2.6, lets a client wait that
// long for the answer to its final dot, because the server may still deliver.
// Index lag 30 seconds: mail servers show an appended message at once (Dovecot
// 2.3: under 50 ms); the margin is for clustered ones. Retention: until somebody
// deletes the message. There is no native protection against repeats.
//
// An empty Sent folder proves something only if the sending path itself puts a
// copy there, as a step that the worker journals (Config.SentAppended), or the
// server that takes the mail for sending does (Config.SentSaved); a mail can
// otherwise leave without one. What a person moves or deletes from there is not
// seen: the bin is no place where sent mail is looked for.
//
// # Servers that want to be left alone
//
// They say so by codes (LIMIT, INUSE, UNAVAILABLE of RFC 5530; Gmail's THROTTLED,
// and its OVERQUOTA for bytes a day, support.google.com/a/answer/1071518) or in
// words only: Gmail's "Too many simultaneous connections"
// (github.com/zone-eu/wildduck/issues/35), Exchange's "User is authenticated but
// not connected" (github.com/Webklex/php-imap/issues/464) and "Request is
// throttled" with a figure (github.com/ikvk/imap_tools/issues/135), Yahoo's "Rate
// limit hit" (github.com/postalsys/imapflow/issues/75), Dovecot's "Maximum number
// of connections" (github.com/mscdex/node-imap/issues/606). At any command that is
// a fault with a wait, never a search that can't be used.
package imap
