// Package jirafake is a Jira Cloud site for the tests of package jira: a stateful
// HTTP server with projects that tokens may browse or not, issue security levels,
// issues that are moved, deleted and archived, a search that lags, issue
// properties that are searchable or not, searching by nobody in particular, and
// faults. It behaves as Atlassian's reference says
// (developer.atlassian.com/cloud/jira/platform/rest/v3/) and, where that says nothing
// (whether labels are compared with regard to case), takes the worse for the adapter.
// It is for tests only.
package jirafake
