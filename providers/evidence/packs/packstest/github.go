package packstest

import (
	"strconv"
	"strings"
	"time"
)

const githubAPI = "https://api.github.com"

// githubUser is an account with every field that GitHub's OpenAPI requires of
// one; nil, as there, if the account is gone.
func githubUser(login string) any {
	if login == "" {
		return nil
	}
	u := githubAPI + "/users/" + login
	return M{"login": login, "id": 77, "node_id": "MDQ6VXNlcjc3", "avatar_url": "https://avatars.githubusercontent.com/u/77?v=4", "gravatar_id": "", "url": u,
		"html_url": "https://github.com/" + login, "followers_url": u + "/followers", "following_url": u + "/following{/other_user}", "gists_url": u + "/gists{/gist_id}",
		"starred_url": u + "/starred{/owner}{/repo}", "subscriptions_url": u + "/subscriptions", "organizations_url": u + "/orgs", "repos_url": u + "/repos",
		"events_url": u + "/events{/privacy}", "received_events_url": u + "/received_events", "type": "Bot", "site_admin": false}
}

func githubIssue(o Object) M {
	n := strconv.Itoa(o.N)
	repo := githubAPI + "/repos/acme/desk"
	creator := "desk-bot"
	if o.State == "foreign" {
		creator = "somebody"
	}
	return M{"id": 9_000_000_000_000_000 + o.N, "node_id": "I_" + n, "number": o.N, "url": repo + "/issues/" + n, "repository_url": repo, "labels_url": repo + "/issues/" + n + "/labels{/name}",
		"comments_url": repo + "/issues/" + n + "/comments", "events_url": repo + "/issues/" + n + "/events", "html_url": "https://github.com/acme/desk/issues/" + n,
		"title": "Order", "state": "open", "locked": false, "labels": []M{}, "assignee": nil, "assignees": []M{}, "milestone": nil, "comments": 0,
		"author_association": "COLLABORATOR", "closed_at": nil, "created_at": o.time(time.RFC3339), "updated_at": o.time(time.RFC3339),
		"user": githubUser(creator), "body": "Please look.\n\n<!-- landed:" + o.Carrier + " -->"}
}

// githubComment is a comment; one in state "ghost" was written by an account
// that is gone.
func githubComment(o Object) M {
	n := strconv.Itoa(o.N)
	repo := githubAPI + "/repos/acme/desk/issues"
	return M{"id": o.N, "node_id": "IC_" + n, "url": repo + "/comments/" + n, "html_url": "https://github.com/acme/desk/issues/1#issuecomment-" + n, "issue_url": repo + "/1",
		"author_association": "COLLABORATOR", "created_at": o.time(time.RFC3339), "updated_at": o.time(time.RFC3339),
		"user": githubUser(strings.TrimPrefix(orElse(o.State, "desk-bot"), "ghost")), "body": "Done.\n<!-- landed:" + o.Carrier + " -->"}
}
