// Package jira is the evidence adapter for the issues of one Jira Cloud site that a
// tool creates in one project.
//
// It owns the way of looking, in this order: who the token is and what it may do in
// the project; issues whose keys or ids the worker journaled are read; then the issues
// with the reference are searched, by a label or by an issue property that an app
// indexes. Every hit is read again by its id, from Jira's database, and compared byte
// for byte on the label and on the property. It sends GET requests only, through
// package egress, and leaves the verdict to package evidence. Package jirafake below
// it is the server of its tests.
//
// # What a worker must do
//
// Create the issue with CreateBody: one request sets the label (landed-{ref}) and the
// issue property (landed, {"ref": …}). People can take the label away; the property
// stays. Jira has no idempotency of its own: the same request twice makes two issues.
// Effects on issues that are there already (comments, transitions) can't be looked up
// here.
//
// # The search lags, and what follows
//
// Jira's search is eventually consistent: seconds mostly, minutes at times, without a
// bound. Its parameter reconcileIssues gives read-after-write consistency for at most
// 50 issues that the caller names by id, and for no other. It can't prove that
// something is not there, and what it could add (issues whose ids were journaled) is
// read by id here, which is stronger; so it is not used. The lag is declared
// (Config.IndexLag) and measured, and an empty answer inside it is too early.
//
// # The token
//
// Of an account of its own with Browse Projects in the project, in every other project
// that issues are moved to, at every issue security level, and no other permission: an
// account that could write in the project is refused unless allow_unverified. For a
// token with scopes (read:jira-work and read:jira-user) of an account that could write,
// set allow_unverified and cloud_id: Jira reports the account's permissions and not the
// token's scopes, and takes such tokens at api.atlassian.com alone.
//
// Searching can be done anonymously. A token that expired then finds nothing and gets
// no error, so the account is asked for first, at an address that refuses nobody's.
//
// # Facts, and where they are from
//
//   - GET /rest/api/3/search/jql takes jql (with a restriction), fields, properties,
//     maxResults and nextPageToken, gives issues, nextPageToken and isLast, no total;
//     and only issues that the account may browse and whose security level it has, the
//     rest vanish without a word (developer.atlassian.com/cloud/jira/platform/rest/v3/
//     api-group-issue-search/).
//   - labels takes = and no ~: a whole label, no words of it
//     (support.atlassian.com/jira-software-cloud/docs/jql-fields/).
//   - Its consistency and reconcileIssues: developer.atlassian.com/cloud/jira/platform/
//     search-and-reconcile. For whole projects there is none:
//     jira.atlassian.com/browse/JRACLOUD-96208.
//   - The search that was there before, /rest/api/3/search, answers 410
//     (developer.atlassian.com/changelog/#CHANGE-2046).
//   - Reading an issue by a key that it had before it was moved gives the issue under
//     its new key; without Browse Projects or the security level it is not found
//     (developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issues/).
//   - Issue properties are searchable only if a Forge or Connect app declares an index
//     for them (developer.atlassian.com/cloud/jira/platform/modules/entity-property/,
//     developer.atlassian.com/platform/forge/manifest-reference/modules/
//     jira-entity-property/). Without one the search is seen to be empty and no error:
//     the positive control finds that out.
//   - My permissions: per project, and for service projects as the portal's customers
//     have them (developer.atlassian.com/cloud/jira/platform/rest/v3/
//     api-group-permissions/).
//   - API tokens with and without scopes, their addresses, their end after a year at
//     most: support.atlassian.com/atlassian-account/docs/
//     manage-api-tokens-for-your-atlassian-account.
//   - Archived issues appear among the archived ones alone
//     (developer.atlassian.com/cloud/acli/reference/commands/jira-workitem-archive).
//   - 429 with Retry-After, X-RateLimit-Reset beside it; some 503 have Retry-After too
//     (developer.atlassian.com/cloud/jira/platform/rate-limiting).
//
// What no look can see: issues that were deleted, which Jira keeps no trace of, or
// archived; issues that were moved to a project, or given a security level, that the
// account can't see; and issues that lost both label and property.
package jira
