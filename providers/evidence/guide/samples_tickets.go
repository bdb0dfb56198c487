package guide

const (
	redmineTests = "a test of package packs against a real Redmine 5"
	rtDoc        = "the POD of RT::REST2 (RT 5.0.3)"
)

// ticketSamples are requests that open tickets at help desks.
func ticketSamples() map[string]sample {
	basic := pair{name: "Authorization", value: str("Basic ")}
	bearer := pair{name: "Authorization", value: str("Bearer ")}
	return map[string]sample{
		"redmine.issue": {
			base: "https://redmine.example.com", path: str("/issues.json"), auth: pair{name: "X-Redmine-API-Key"}, form: asJSON,
			body: obj(field("issue", obj(field("project_id", number("project")), field("subject", arg("subject")), field("description", arg("text"))))),
			id:   []any{"issue", "id"}, answer: `{"issue":{"id":17}}`,
			args: `{"project":1,"subject":"A parcel is late","text":"Order A-17"}`, source: redmineTests,
		},
		"rt": {
			base: "https://rt.example.com", path: str("/REST/2.0/ticket"), auth: pair{name: "Authorization", value: str("token ")}, form: asJSON,
			body: obj(field("Queue", arg("queue")), field("Subject", arg("subject")), field("Content", arg("text"))),
			id:   []any{"id"}, answer: `{"id":"17","type":"ticket"}`,
			args: `{"queue":"Support","subject":"A parcel is late","text":"Order A-17"}`, source: rtDoc,
		},
		"zendesk": {
			base: "https://acme.zendesk.com", path: str("/api/v2/tickets"), auth: bearer, form: asJSON,
			body: obj(field("ticket", obj(field("subject", arg("subject")), field("comment", obj(field("body", arg("text"))))))),
			id:   []any{"ticket", "id"}, answer: `{"ticket":{"id":17}}`,
			args:   `{"subject":"A parcel is late","text":"Order A-17"}`,
			source: "developer.zendesk.com/rest_api/docs/support/ticket_comments",
		},
		"freshdesk.ticket": {
			base: "https://acme.freshdesk.com", path: str("/api/v2/tickets"), auth: basic, form: asJSON,
			body: obj(field("subject", arg("subject")), field("description", arg("text")), field("email", arg("email")),
				field("priority", literal("1")), field("status", literal("2"))),
			id: []any{"id"}, answer: `{"id":17}`,
			args: `{"subject":"A parcel is late","text":"Order A-17","email":"kim@example.com"}`,
		},
		"servicenow.record": {
			base: "https://acme.service-now.com", path: str("/api/now/table/incident"), auth: basic, form: asJSON,
			body: obj(field("short_description", arg("subject")), field("comments", arg("text"))),
			id:   []any{"result", "sys_id"}, answer: `{"result":{"sys_id":"9d385017c611228701d22104cc95c371"}}`,
			args:   `{"subject":"A parcel is late","text":"Order A-17"}`,
			source: "servicenow.com/docs, REST API Explorer, Create an incident record",
		},
		"hubspot.ticket": {
			base: "https://api.hubapi.com", path: str("/crm/v3/objects/tickets"), auth: bearer, form: asJSON,
			body: obj(field("properties", obj(field("subject", arg("subject")), field("hs_pipeline_stage", arg("stage"))))),
			id:   []any{"id"}, answer: `{"id":"17"}`, args: `{"subject":"A parcel is late","stage":"1"}`,
			source: "developers.hubspot.com/docs/api-reference/legacy/crm/objects/tickets/guide",
		},
		"intercom.contact": {
			base: "https://api.intercom.io", path: str("/contacts"), auth: bearer, form: asJSON,
			body: obj(field("email", arg("email"))),
			id:   []any{"id"}, answer: `{"type":"contact","id":"667d60c08a68186f43bafe17"}`, args: `{"email":"kim@example.com"}`,
			source: "intercom/Intercom-OpenAPI, descriptions/2.15 at 8889625",
		},
		"pagerduty.incident": {
			base: "https://api.pagerduty.com", path: str("/incidents"), auth: pair{name: "Authorization", value: str("Token token=")},
			header: []pair{{name: "Accept", value: str("application/vnd.pagerduty+json;version=2")}, {name: "From", value: arg("from")}}, form: asJSON,
			body: obj(field("incident", obj(field("type", str("incident")), field("title", arg("title")),
				field("service", obj(field("id", arg("service")), field("type", str("service_reference"))))))),
			id: []any{"incident", "id"}, answer: `{"incident":{"id":"PT4KHLK"}}`,
			args:   `{"title":"Disk full","service":"PIJ90N7","from":"desk@example.com"}`,
			source: "PagerDuty/api-schema, reference/REST/openapiv3.json at 91a06fb",
		},
		"salesforce.record": {
			base: "https://acme.my.salesforce.com", path: str("/services/data/v65.0/sobjects/Case"), auth: bearer, form: asJSON,
			body: obj(field("Subject", arg("subject")), field("Description", arg("text"))),
			id:   []any{"id"}, answer: `{"id":"500000000000017","success":true,"errors":[]}`,
			args: `{"subject":"A parcel is late","text":"Order A-17"}`,
		},
	}
}

// trackerSamples are requests to trackers, calendars and chats.
func trackerSamples() map[string]sample {
	bearer := pair{name: "Authorization", value: str("Bearer ")}
	titled := `{"title":"A parcel is late","text":"Order A-17"}`
	return map[string]sample{
		"github.issue": {
			base: "https://api.github.com", path: str("/repos/acme/desk/issues"), auth: bearer,
			header: []pair{{name: "Accept", value: str("application/vnd.github+json")}}, form: asJSON,
			body: obj(field("title", arg("title")), field("body", arg("text"))),
			id:   []any{"number"}, answer: `{"id":1,"number":17}`, args: titled,
		},
		"github.comment": {
			base: "https://api.github.com", path: Value{{Text: "/repos/acme/desk/issues/"}, {Kind: Arg, Text: "number"}, {Text: "/comments"}}, auth: bearer,
			header: []pair{{name: "Accept", value: str("application/vnd.github+json")}}, form: asJSON,
			body: obj(field("body", arg("text"))),
			id:   []any{"id"}, answer: `{"id":17}`, args: `{"number":"4","text":"Order A-17 was sent again."}`,
		},
		"gitlab.issue": {
			base: "https://gitlab.com", path: str("/api/v4/projects/acme%2Fdesk/issues"), auth: pair{name: "PRIVATE-TOKEN"}, form: asJSON,
			body: obj(field("title", arg("title")), field("description", arg("text"))),
			id:   []any{"iid"}, answer: `{"id":1,"iid":17}`, args: titled,
		},
		"jira": {
			base: "https://acme.atlassian.net", path: str("/rest/api/3/issue"), auth: pair{name: "Authorization", value: str("Basic ")}, form: asJSON,
			body: obj(field("fields", obj(field("project", obj(field("key", arg("project")))), field("issuetype", obj(field("name", arg("type")))), field("summary", arg("title"))))),
			id:   []any{"key"}, answer: `{"id":"10017","key":"DESK-17"}`, args: `{"project":"DESK","type":"Task","title":"A parcel is late"}`,
		},
		"linear.issue": {
			base: "https://api.linear.app", path: str("/graphql"), auth: pair{name: "Authorization"}, form: asGraphQL,
			query: "mutation Create($input: IssueCreateInput!) { issueCreate(input: $input) { success issue { id identifier } } }",
			body:  obj(field("input", obj(field("teamId", arg("team")), field("title", arg("title")), field("description", arg("text"))))),
			id:    []any{"data", "issueCreate", "issue", "id"}, answer: `{"data":{"issueCreate":{"success":true,"issue":{"id":"5f0c5d0b-8f0e-4c53-9d5c-000000000017","identifier":"DSK-17"}}}}`,
			args: `{"team":"9cfb482a-81e3-4154-b5b9-2c805e70a02d","title":"A parcel is late","text":"Order A-17"}`,
		},
		"google.calendar_event": {
			base: "https://www.googleapis.com", path: str("/calendar/v3/calendars/primary/events"), auth: bearer, form: asJSON,
			body: obj(field("summary", arg("title")), field("start", obj(field("dateTime", arg("start")))), field("end", obj(field("dateTime", arg("end"))))),
			id:   []any{"id"}, answer: `{"id":"made17","status":"confirmed"}`,
			args: `{"title":"Pick-up","start":"2027-01-04T09:00:00Z","end":"2027-01-04T09:30:00Z"}`,
		},
		"slack.message": {
			base: "https://slack.com", path: str("/api/chat.postMessage"), auth: bearer, form: asJSON,
			body: obj(field("channel", arg("channel")), field("text", arg("text"))),
			id:   []any{"ts"}, answer: `{"ok":true,"channel":"C0123456789","ts":"1503435956.000247"}`,
			args: `{"channel":"C0123456789","text":"Order A-17 was sent."}`, source: "docs.slack.dev/messaging/message-metadata",
		},
	}
}
