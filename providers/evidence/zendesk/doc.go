// Package zendesk is the evidence adapter for the tickets of one Zendesk Support
// account, production or sandbox.
//
// It owns the way of looking, in this order: the account's own view is checked (who
// the token is, whether it may see every ticket, whether it may write); tickets
// whose ids the worker journaled are read; the tickets with the reference as their
// external_id are listed; and before an empty list is believed, the tickets that
// were deleted and the ones that were suspended since the window began are listed
// too. Of an effect that is older than the retention, Zendesk's search, which lags
// but knows archived tickets, may bring a hit and never a miss. Every hit is read
// again by its id and compared byte for byte on external_id. It sends GET requests
// only, through package egress, and leaves the verdict to package evidence.
// Package zendeskfake below it is the server of its tests.
//
// # What a worker must do
//
// Create the ticket with CreateBody and send the headers of Header: external_id
// holds the reference and nothing else does. external_id is not unique, so two
// tickets with one reference are two matches. Comments on tickets that are there
// already have no external id and can't be looked up here.
//
// # The credentials
//
// A confidential OAuth client that is allowed the scope read alone and was made by an
// admin: Landed gets its access tokens itself by the client credentials grant. Or an
// OAuth access token with the scope read: it ends after two days at most, is renewed by
// somebody else, and a session reads it anew. A token is always some user's; who that
// is, and whether that user sees every ticket, is asked at each look (admins do, also
// those of private groups). Zendesk says which scopes a token has, so one that may write
// is refused. API tokens (with email) can do all that their user may, no new
// ones can be made since October 2026 and all of them end on 30 April 2027: they are
// taken with allow_unverified only.
//
// # Facts, and where they are from
//
//   - List Tickets takes external_id, which need not be unique; lists no archived
//     tickets; silently lists only what a restricted agent may see; gives at most
//     100 rows; is limited to 100 requests a minute; support_type_scope decides
//     whether tickets of AI agents are listed and defaults to agent, which leaves
//     them out (developer.zendesk.com/api-reference/ticketing/tickets/tickets/).
//     That a new ticket shows at once is not stated: see Config.IndexLag.
//   - Cursor paging: page[size], page[after], meta.has_more, meta.after_cursor; paging by
//     number: per_page, page, next_page, count (developer.zendesk.com/api-reference/
//     introduction/pagination/). That the list by external_id is paged by cursor is not
//     stated, so either answer is taken.
//   - Deleted tickets are listed for 30 days with id, subject, deleted_at and who
//     deleted them, without external_id, sorted by deleted_at if asked; 10 requests a
//     minute (the same reference, "List Deleted Tickets").
//   - A merge closes the source ticket, which keeps its external_id and is still
//     listed (the same reference, "Merge Tickets into Target Ticket"). That it is
//     tagged closed_by_merge is seen in exports, not stated: it is shown as a fact and
//     nothing hangs on it.
//   - Tickets of suspended users are suspended (developer.zendesk.com/api-reference/
//     ticketing/users/users/). Suspended tickets are listed by themselves, without
//     external_id, to admins and to agents with that right (developer.zendesk.com/
//     api-reference/ticketing/tickets/suspended_tickets/).
//   - Closed tickets are archived 120 days after they closed, sooner in very large
//     accounts, and after 3 days in sandboxes; search and reading by id still find
//     them (support.zendesk.com/hc/en-us/articles/4408887617050).
//   - Search may take minutes to know a new ticket (github.com/zendesk/
//     zendesk_api_client_rb, number 80 of its tracker, answered by Zendesk).
//   - restricted_agent is false for admins and unrestricted agents only;
//     ticket_restriction is null where all tickets are visible (developer.zendesk.com/
//     api-reference/ticketing/users/users/). Admins see private groups
//     (support.zendesk.com/hc/en-us/articles/4767122732058).
//   - The client credentials grant, and that an access token lives for less than two
//     days: developer.zendesk.com/api-reference/ticketing/oauth/grant_type_tokens/. That
//     a token is a user's: developer.zendesk.com/documentation/api-basics/
//     authentication/api-tokens-to-oauth/. That it is the user who made the client is
//     not stated.
//   - Show Current Token gives a token's scopes (developer.zendesk.com/
//     api-reference/ticketing/oauth/oauth_tokens/). The end of API tokens:
//     developer.zendesk.com/documentation/api-basics/authentication/oauth-migration/.
//   - 429 with Retry-After in seconds; X-Rate-Limit and ratelimit-reset beside it
//     (developer.zendesk.com/api-reference/introduction/rate-limits).
//   - Idempotency-Key: up to 255 characters, kept for two hours, another body under
//     it is refused with 400 (developer.zendesk.com/api-reference/ticketing/
//     introduction/#idempotency).
//
// What no look can see: tickets that were deleted for good or whose external_id a
// person changed, and tickets in other brands' own accounts.
package zendesk
