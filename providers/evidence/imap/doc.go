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
// (github.com/horde/Imap_Client/pull/17).
//
// # Servers whose header search can't be trusted
//
// Some servers refuse a HEADER search (iCloud, where the field name is quoted:
// github.com/mscdex/node-imap/issues/775; go-imap always quotes it), others
// always answer with nothing (Yahoo: github.com/MailCore/mailcore2/issues/823).
// So an empty answer is believed only when the same kind of search finds the
// newest message of the mailbox by its own header. Else, and after a refusal,
// the newest messages are read, at most Config.MaxScan of them, and compared
// here. What that bound leaves out makes the answer incomplete.
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
// copy there, as a step that the worker journals (Config.SentAppended); a mail
// can otherwise leave without one.
package imap
