// Package zendeskfake is a Zendesk account for the tests of package zendesk: a
// stateful HTTP server with tickets that can be deleted, suspended, archived and
// merged, tokens with scopes and users with restrictions, both kinds of paging,
// idempotency keys, a search that lags, and faults. It behaves as Zendesk's
// reference says (developer.zendesk.com/api-reference/ticketing); where that says
// nothing (whether external_id is compared with regard to case) it takes the worse
// for the adapter. It is for tests only.
package zendeskfake
