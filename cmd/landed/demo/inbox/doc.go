// Package inbox is the demo's alert inbox: it stands for the pager or chat that an
// organisation would connect. It receives Landed's real signed webhooks, checks
// each signature, and shows what came on a small page, newest first, with the
// link that a person on call would follow.
//
// It keeps the last few alerts in memory and nothing else. The page needs no
// JavaScript and refreshes itself.
package inbox
