package guide

const mailArgs = `{"from":"desk@example.com","to":"kim@example.net","subject":"Your parcel","text":"It is on its way."}`

// message is what every mail holds.
func message() *object {
	return obj(field("from", arg("from")), field("to", arg("to")), field("subject", arg("subject")), field("text", arg("text")))
}

// mailSamples are requests that send through a mailbox.
func mailSamples() map[string]sample {
	bearer := pair{name: "Authorization", value: str("Bearer ")}
	mail := obj(
		field("mailboxIds", obj(&member{name: "drafts-id", value: literal("true")})),
		field("keywords", obj(field("$draft", literal("true")))),
		field("from", arr(obj(field("email", arg("from"))))), field("to", arr(obj(field("email", arg("to"))))), field("subject", arg("subject")),
		field("bodyValues", obj(field("1", obj(field("value", arg("text")))))),
		field("textBody", arr(obj(field("partId", str("1")), field("type", str("text/plain"))))),
	)
	return map[string]sample{
		"imap": {form: asSMTP, base: "smtp.example.com:465", body: message(), args: mailArgs, source: "RFC 5321 and RFC 5322"},
		"gmail": {
			base: "https://gmail.googleapis.com", path: str("/gmail/v1/users/me/messages/send"), auth: bearer, form: asRaw, body: message(),
			id: []any{"id"}, answer: `{"id":"18c0ffee","threadId":"18c0ffee","labelIds":["SENT"]}`, args: mailArgs,
		},
		"graph": {
			base: "https://graph.microsoft.com", path: str("/v1.0/me/sendMail"), auth: bearer, form: asJSON,
			body: obj(field("message", obj(
				field("subject", arg("subject")), field("body", obj(field("contentType", str("Text")), field("content", arg("text")))),
				field("toRecipients", arr(obj(field("emailAddress", obj(field("address", arg("to"))))))),
			)), field("saveToSentItems", literal("true"))),
			args: mailArgs, source: "learn.microsoft.com/graph/outlook-things-to-know-about-send-mail: a send is answered 202 with no body",
		},
		"jmap": {
			base: "https://api.fastmail.com/jmap/api/", auth: bearer, form: asJSON,
			body: obj(
				field("using", arr(str("urn:ietf:params:jmap:core"), str("urn:ietf:params:jmap:mail"), str("urn:ietf:params:jmap:submission"))),
				field("methodCalls", arr(
					arr(str("Email/set"), obj(field("accountId", arg("account")), field("create", obj(field("m", mail)))), str("0")),
					arr(str("EmailSubmission/set"), obj(field("accountId", arg("account")),
						field("create", obj(field("s", obj(field("identityId", arg("identity")), field("emailId", str("#m")))))),
						field("onSuccessUpdateEmail", obj(field("#s", obj(
							field("mailboxIds/drafts-id", literal("null")), field("mailboxIds/sent-id", literal("true")), field("keywords/$draft", literal("null"))))))), str("1")),
				)),
			),
			root: []any{"methodCalls", 0, 1, "create", "m"},
			id:   []any{"methodResponses", 1, 1, "created", "s", "id"},
			answer: `{"methodResponses":[["Email/set",{"created":{"m":{"id":"M17"}}},"0"],["EmailSubmission/set",{"created":{"s":{"id":"S17"}}},"1"],` +
				`["Email/set",{"updated":{"M17":null}},"1"]],"sessionState":"1"}`,
			args:   `{"account":"u1","identity":"i1","from":"desk@example.com","to":"kim@example.net","subject":"Your parcel","text":"It is on its way."}`,
			source: "RFC 8621, sections 4.6 and 7.5; drafts-id and sent-id stand for the ids of one's own mailboxes",
		},
	}
}

// mailerSamples are requests to services that send mail and messages.
func mailerSamples() map[string]sample {
	bearer := pair{name: "Authorization", value: str("Bearer ")}
	basic := pair{name: "Authorization", value: str("Basic ")}
	return map[string]sample{
		"postmark.message": {
			base: "https://api.postmarkapp.com", path: str("/email"), auth: pair{name: "X-Postmark-Server-Token"}, form: asJSON,
			body: obj(field("From", arg("from")), field("To", arg("to")), field("Subject", arg("subject")), field("TextBody", arg("text"))),
			id:   []any{"MessageID"}, answer: `{"ErrorCode":0,"MessageID":"b7bc2f4a-e38e-4336-af7d-e6c392c2f817","Message":"OK"}`, args: mailArgs,
			source: "ActiveCampaign/postmark.js, src/client/models/message/Message.ts at 5642c72",
		},
		"mailgun.message": {
			base: "https://api.mailgun.net", path: str("/v3/mail.example.com/messages"), auth: basic, form: asForm,
			body: obj(field("from", arg("from")), field("to", arg("to")), field("subject", arg("subject")), field("text", arg("text"))),
			id:   []any{"id"}, answer: `{"id":"<17@mail.example.com>","message":"Queued. Thank you."}`, args: mailArgs,
			doubt: "Mailgun's description of this request (mailgun/mailgun-mcp-server, src/openapi.yaml at 78d610f) names multipart/form-data; that it takes this form was not checked.",
		},
		"sendgrid.message": {
			base: "https://api.sendgrid.com", path: str("/v3/mail/send"), auth: bearer, form: asJSON,
			body: obj(field("personalizations", arr(obj(field("to", arr(obj(field("email", arg("to")))))))), field("from", obj(field("email", arg("from")))),
				field("subject", arg("subject")), field("content", arr(obj(field("type", str("text/plain")), field("value", arg("text")))))),
			args: mailArgs, source: "twilio/sendgrid-oai, spec/json/tsg_mail_v3.json at dbe0e0d: 202 with no body",
		},
		"resend.email": {
			base: "https://api.resend.com", path: str("/emails"), auth: bearer, form: asJSON,
			body: obj(field("from", arg("from")), field("to", arr(arg("to"))), field("subject", arg("subject")), field("text", arg("text"))),
			id:   []any{"id"}, answer: `{"id":"49a3999c-0ce1-4ea6-ab68-000000000017"}`, args: mailArgs,
			source: "resend/resend-openapi, resend.yaml at fd6f395",
		},
		"brevo.message": {
			base: "https://api.brevo.com", path: str("/v3/smtp/email"), auth: pair{name: "api-key"}, form: asJSON,
			body: obj(field("sender", obj(field("email", arg("from")))), field("to", arr(obj(field("email", arg("to"))))),
				field("subject", arg("subject")), field("textContent", arg("text"))),
			id: []any{"messageId"}, answer: `{"messageId":"<17@relay.example.com>"}`, args: mailArgs,
			source: "getbrevo/brevo-go, api/swagger.yaml at 26055de",
		},
		"mandrill.message": {
			base: "https://mandrillapp.com", path: str("/api/1.4/messages/send"), form: asJSON,
			body: obj(field("key", Value{{Kind: Secret}}), field("message", obj(field("from_email", arg("from")), field("to", arr(obj(field("email", arg("to"))))),
				field("subject", arg("subject")), field("text", arg("text"))))),
			id: []any{0, "_id"}, answer: `[{"email":"kim@example.net","status":"sent","_id":"abc17"}]`, args: mailArgs,
		},
		"twilio.message": {
			base: "https://api.twilio.com", path: str("/2010-04-01/Accounts/AC00000000000000000000000000000000/Messages.json"), auth: basic, form: asForm,
			body: obj(field("To", arg("to")), field("From", arg("from")), field("Body", arg("text"))),
			id:   []any{"sid"}, answer: `{"sid":"SM00000000000000000000000000000017","status":"queued"}`,
			args: `{"to":"+15005550006","from":"+15005550001","text":"Your parcel is on its way."}`, source: "twilio/twilio-oai, spec/json/twilio_api_v2010.json",
		},
	}
}
