// Package rt is the evidence adapter for Request Tracker 5 over its REST2 API.
//
// It owns the way of looking: a ticket custom field that holds the reference is
// searched in RT's own database, every hit is read again, and the field is
// compared byte for byte. It sends GET requests only, through package egress,
// and leaves the verdict to package evidence. Package rttest below it starts a
// real RT for tests; package rtdesk is the sandbox desk of the demo.
//
// # What RT must have
//
// A ticket custom field of type "Enter one value" (freeform), applied to the
// queue or, better, to all queues: a ticket that was moved to a queue without
// the field keeps its value but shows it to nobody, and then the look can't
// tell. The adapter's account needs SeeQueue, ShowTicket and SeeCustomField,
// best granted globally, and no other right. The worker's account needs
// CreateTicket, SeeCustomField and ModifyCustomField (or SetInitialCustomField):
// RT makes the ticket and drops a field that the account may not set, without a
// word in its answer. See CreateBody.
//
// # What was learned from RT 5.0.3
//
// Each point is pinned by a test against the real server.
//
//   - A custom field that does not exist in a search gives no rows and no error.
//     So before an empty answer is believed, the queue's record must list the
//     field: it lists exactly the fields that the account may see.
//   - A queue that does not exist and one that the account may not see give the
//     same 403 (404 to a superuser).
//   - Without ShowTicket a search is empty and its total is 0. So before an empty
//     answer is believed, some ticket of the queue must be visible.
//   - Merged tickets are left out of searches unless the query speaks of
//     EffectiveId, and reading one by its id gives the ticket it was merged into.
//   - Deleted tickets are left out of searches always, but can be read by id, and
//     a transaction search can list the deleted tickets of the window.
//   - Field values are compared without regard to case.
//   - total and pages are null where RT held rows back after the query
//     ($UseSQLForACLChecks off and ShowTicket not global). Then next_page is
//     missing too, and how much was held back is unknown: such an empty answer
//     never counts as complete.
//   - REST2 does not decode UTF-8 in a queue's name in the path: such a queue is
//     configured by its numeric id.
//
// What no look can see: tickets in queues that the account can't see, shredded
// tickets, and a field that a person emptied by hand.
//
// # Sources
//
// RT's own documentation as shipped with 5.0.3 and on docs.bestpractical.com: the
// POD of RT::REST2 (calls, paging, authentication by token), RT::Tickets
// (searches leave out deleted tickets), customizing/lifecycles (statuses). RT's
// parser (RT::SQL, RT::Tickets) takes a number in CF.{…} and after Queue as an
// id, so no name ever stands in a query: the only quoted value is the reference,
// 32 hex digits.
package rt
