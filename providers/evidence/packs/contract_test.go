package packs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/packs/packstest"
)

// contract is what one pack must do at its vendor.
type contract struct {
	dialect  packstest.Dialect
	class    evidence.LookupClass
	requests []string                      // of one look that finds one object; REF, TIME, DAY stand for values
	states   map[string]journal.MatchState // the provider's word to what it means
	pages    int                           // rows of the window or with the same reference that fill several pages; 0 = can't be
	fields   map[string]string             // the writer's side: name to value
	fact     string                        // one further fact that a match must have
}

func contracts() map[string]contract {
	eff, pend, not := journal.MatchEffective, journal.MatchPending, journal.MatchNotEffective
	twilio := "GET /2010-04-01/Accounts/AC" + strings.Repeat("a", 32) + "/Messages.json?"
	return map[string]contract{
		"status.endpoint": {packstest.Status(), evidence.L1, []string{"GET /REF"},
			map[string]journal.MatchState{"effective": eff, "pending": pend, "not_effective": not, "odd": pend}, 0, map[string]string{"Landed-Ref": "REF"}, "amount"},
		"redmine.issue": {packstest.Redmine(), evidence.L2, []string{"GET /roles.json", "GET /users/current.json?include=memberships", "GET /roles/4.json",
			"GET /issues.json?cf_9=REF&limit=100&offset=0&sort=id&status_id=%2A", "GET /issues/1.json"},
			map[string]journal.MatchState{"New": eff, "rejected": not}, 0, map[string]string{"issue.custom_fields[] (an object with id 9)": "REF"}, "project"},
		"github.issue": {packstest.GitHub(), evidence.L5, []string{"GET /repos/acme/desk/issues?creator=desk-bot&direction=asc&per_page=100&since=TIME&sort=created&state=all"},
			map[string]journal.MatchState{"": eff}, 250, map[string]string{"body, on a line of its own at the end": "<!-- landed:REF -->"}, "author"},
		"gitlab.issue": {packstest.GitLab(), evidence.L5, []string{"GET /api/v4/projects/acme%2Fdesk/issues?author_username=desk-bot&created_after=TIME&order_by=created_at&per_page=100&scope=all&sort=asc&state=all"},
			map[string]journal.MatchState{"": eff}, 250, map[string]string{"description, on a line of its own at the end": "<!-- landed:REF -->"}, "author"},
		"pagerduty.incident": {packstest.PagerDuty(), evidence.L2, []string{"GET /incidents?date_range=all&incident_key=REF&limit=100&offset=0&sort_by=created_at%3Aasc&statuses%5B%5D=triggered&statuses%5B%5D=acknowledged&statuses%5B%5D=resolved"},
			map[string]journal.MatchState{"resolved": eff}, 250, map[string]string{"incident.incident_key": "REF"}, "service"},
		"servicenow.record": {packstest.ServiceNow(), evidence.L2, []string{"GET /api/now/table/incident?sysparm_display_value=false&sysparm_exclude_reference_link=true&sysparm_fields=sys_id%2Cnumber%2Cshort_description%2Cstate%2Ccorrelation_id%2Csys_created_on%2Csys_created_by&sysparm_limit=100&sysparm_offset=0&sysparm_query=correlation_id%3DREF%5EORDERBYsys_created_on"},
			map[string]journal.MatchState{"1": eff, "8": not}, 250, map[string]string{"correlation_id": "REF"}, "author"},
		"freshdesk.ticket": {packstest.Freshdesk(), evidence.L5, []string{
			"GET /api/v2/tickets?order_by=created_at&order_type=asc&per_page=100&updated_since=TIME",
			"GET /api/v2/tickets?filter=spam&order_by=created_at&order_type=asc&per_page=100&updated_since=TIME",
			"GET /api/v2/tickets?filter=deleted&order_by=created_at&order_type=asc&per_page=100&updated_since=TIME"},
			map[string]journal.MatchState{"": eff, "spam": not, "deleted": not}, 250, map[string]string{"custom_fields.cf_landed_ref": "REF"}, ""},
		"linear.issue": {packstest.Linear(), evidence.L2, []string{"POST /graphql"},
			map[string]journal.MatchState{"": eff, "by id": eff, "trashed": not}, 120, map[string]string{"input.id": "UUID"}, ""},
		"postmark.message": {packstest.Postmark(), evidence.L4, []string{"GET /messages/outbound?count=100&messagestream=outbound&metadata_landed_ref=REF&offset=0"},
			map[string]journal.MatchState{"Sent": eff, "Queued": eff, "Odd": pend}, 250, map[string]string{"Metadata.landed_ref": "REF"}, "stream"},
		"mailgun.message": {packstest.Mailgun(), evidence.L4, []string{"POST /v1/analytics/logs", "POST /v1/analytics/logs", "POST /v1/analytics/logs", "POST /v1/analytics/logs"},
			map[string]journal.MatchState{"": eff, "bounced": not, "untagged": eff, "plain": eff}, 120, map[string]string{"o:tag": "REF", "v:landed_ref": "REF"}, ""},
		"sendgrid.message": {packstest.SendGrid(), evidence.L4, []string{"POST /v3/logs", "GET /v3/logs/id1.filter", "POST /v3/logs", "GET /v3/logs/id1.filter"},
			map[string]journal.MatchState{"processed": eff, "deferred": eff, "dropped": not, "bounced": not, "blocked": not}, 0, map[string]string{"categories[]": "REF"}, ""},
		"square.payment": {packstest.Square(), evidence.L5, []string{
			"GET /v2/locations",
			"GET /v2/payments?begin_time=TIME&end_time=TIME&limit=100&location_id=MAIN&sort_order=ASC",
			"GET /v2/payments?begin_time=TIME&end_time=TIME&limit=100&location_id=SECOND&sort_order=ASC"},
			map[string]journal.MatchState{"COMPLETED": eff, "APPROVED": pend, "PENDING": pend, "CANCELED": not, "FAILED": not, "NEW": pend}, 500, map[string]string{"reference_id": "REF", "idempotency_key": "KEY"}, "amount"},
		"paypal.transaction": {packstest.PayPal(), evidence.L5, []string{"POST /v1/oauth2/token",
			"GET /v1/reporting/transactions?balance_affecting_records_only=N&end_date=TIME&fields=transaction_info&page=1&page_size=500&start_date=TIME"},
			map[string]journal.MatchState{"S": eff, "P": pend, "D": not, "V": not, "T1300": pend, "T1301": pend, "T1302": not, "T1107": not}, 1100, map[string]string{"purchase_units[0].custom_id": "REF", "PayPal-Request-Id": "KEY"}, "amount"},
		"twilio.message": {packstest.Twilio(), evidence.L5, []string{twilio + "DateSent%3E=DAY&PageSize=200", twilio + "PageSize=200"},
			map[string]journal.MatchState{"delivered": eff, "sent": eff, "queued": eff, "undelivered": not, "failed": not, "canceled": not, "scheduled": pend}, 500, map[string]string{"Body, at the end after a space": "ref:REF"}, ""},
		"github.comment": {packstest.GitHubComment(), evidence.L5, []string{"GET /repos/acme/desk/issues/comments?direction=asc&per_page=100&since=TIME&sort=created"},
			map[string]journal.MatchState{"": eff, "ghost": eff}, 250, map[string]string{"body, on a line of its own at the end": "<!-- landed:REF -->"}, "author"},
		"google.calendar_event": {packstest.GoogleCalendar(), evidence.L2, []string{
			"GET /calendar/v3/calendars/desk@example.com/events?maxResults=250&privateExtendedProperty=landed_ref%3DREF&showDeleted=true",
			"GET /calendar/v3/calendars/desk@example.com/events/REF"},
			map[string]journal.MatchState{"confirmed": eff, "tentative": eff, "cancelled": not, "deleted": not}, 250, map[string]string{"id": "REF", "extendedProperties.private.landed_ref": "REF"}, ""},
		"adyen.transfer": {packstest.AdyenTransfer(), evidence.L2, []string{"GET /btl/v4/transfers?balancePlatform=Acme&createdSince=TIME&createdUntil=TIME&limit=100&reference=REF&sortOrder=asc"},
			map[string]journal.MatchState{"booked": eff, "received": pend, "authorised": pend, "refused": not, "returned": not, "unheardOf": pend}, 250, map[string]string{"reference": "REF", "Idempotency-Key": "KEY"}, "amount"},
		"braintree.transaction": {packstest.Braintree(), evidence.L3, []string{"POST /graphql"},
			map[string]journal.MatchState{"SETTLED": eff, "SUBMITTED_FOR_SETTLEMENT": eff, "AUTHORIZED": pend, "PROCESSOR_DECLINED": not, "VOIDED": not, "UNHEARD_OF": pend}, 120, map[string]string{"input.transaction.orderId": "REF"}, "amount"},
		"salesforce.record": {packstest.Salesforce(), evidence.L2, []string{"POST /services/oauth2/token",
			"GET /services/data/v65.0/queryAll?q=SELECT+Id%2C+IsDeleted%2C+CreatedDate%2C+Landed_Ref__c+FROM+Case+WHERE+Landed_Ref__c+%3D+%27REF%27"},
			map[string]journal.MatchState{"": eff, "deleted": not}, 250, map[string]string{"Landed_Ref__c": "REF"}, ""},
		"hubspot.ticket": {packstest.HubSpot(), evidence.L3, []string{"POST /crm/v3/objects/tickets/search",
			"POST /crm/v3/objects/tickets/batch/read?archived=true"},
			map[string]journal.MatchState{"1": eff, "9": not, "archived": not}, 250, map[string]string{"properties.landed_ref": "REF"}, ""},
		"intercom.contact": {packstest.Intercom(), evidence.L3, []string{"POST /contacts/search"},
			map[string]journal.MatchState{"": eff}, 120, map[string]string{"external_id": "REF"}, ""},
		"resend.email": {packstest.Resend(), evidence.L5, []string{"GET /emails?limit=100", "GET /emails/id-1"},
			map[string]journal.MatchState{"delivered": eff, "queued": eff, "complained": eff, "scheduled": pend, "suppressed": not, "bounced": not, "canceled": not, "unheard_of": pend}, 40,
			map[string]string{"tags[] (an object with name landed_ref)": "REF", "reply_to[] (only with carrier reply_to)": "name+REF@your-domain", "Idempotency-Key": "KEY"}, ""},
		"brevo.message": {packstest.Brevo(), evidence.L4, []string{"GET /v3/smtp/statistics/events?days=2&limit=500&offset=0&sort=asc&tags=%5B%22REF%22%5D"},
			map[string]journal.MatchState{"delivered": eff, "requests": eff, "opened": eff, "deferred": eff, "hardBounces": not, "blocked": not, "unheardOf": pend}, 600,
			map[string]string{"tags[] (the only one)": "REF", "headers.idempotencyKey": "UUIDKEY"}, ""},
		"mandrill.message": {packstest.Mandrill(), evidence.L4, []string{"POST /api/1.4/metadata/list", "POST /api/1.4/messages/search"},
			map[string]journal.MatchState{"sent": eff, "queued": eff, "scheduled": pend, "soft-bounced": pend, "bounced": not, "rejected": not, "canceled": not}, 0,
			map[string]string{"message.metadata.landed_ref": "REF"}, ""},
		"slack.message": {packstest.Slack(), evidence.L5, []string{"GET /api/conversations.history?channel=C0123456789&include_all_metadata=true&inclusive=true&latest=UNIX&limit=200&oldest=UNIX"},
			map[string]journal.MatchState{"": eff}, 500, map[string]string{"metadata.event_payload.landed_ref": "REF"}, "author"},
	}
}

func TestContracts(t *testing.T) {
	t.Parallel()
	for name, c := range contracts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkRequests(t, c)
			checkStates(t, c)
			checkPages(t, c)
			checkWriter(t, c)
		})
	}
	if n := len(packstest.Dialects()); n != len(contracts()) {
		t.Errorf("%d dialects, %d contracts", n, len(contracts()))
	}
}

// masked replaces what differs from look to look.
func masked(s, ref string) string {
	s = strings.ReplaceAll(s, ref, "REF")
	s = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d%3A\d\d%3A\d\dZ`).ReplaceAllString(s, "TIME")
	s = regexp.MustCompile(`20\d\d-\d\d-\d\d\b`).ReplaceAllStringFunc(s, func(d string) string {
		if d == "2010-04-01" {
			return d
		}
		return "DAY"
	})
	return regexp.MustCompile(`=1[789]\d{8}\b`).ReplaceAllString(s, "=UNIX")
}

func checkRequests(t *testing.T, c contract) {
	t.Helper()
	f := packstest.New(t, c.dialect)
	ref := journal.RandomRef()
	f.Put(ref, "", time.Now())
	a, err := f.Find(t, ref)
	if err != nil || len(a.Matches) != 1 {
		t.Fatalf("%d matches, %v", len(a.Matches), err)
	}
	var got []string
	for _, r := range f.Log() {
		got = append(got, masked(r, ref))
	}
	if diff := cmp.Diff(c.requests, got); diff != "" {
		t.Errorf("requests: %s", diff)
	}
	if s := f.Adapter(t).Sheet(); s.Class != c.class || !strings.Contains(s.Version, "+sha256:") {
		t.Errorf("sheet %+v", s)
	}
	if !hasFact(a.Matches[0], c.fact) {
		t.Errorf("no fact %s: %+v", c.fact, a.Matches[0].Facts)
	}
}

func hasFact(m journal.Match, name string) bool {
	for _, f := range m.Facts {
		if f.Name == name && f.Value != "" {
			return true
		}
	}
	return name == ""
}

func checkStates(t *testing.T, c contract) {
	t.Helper()
	for word, want := range c.states {
		f := packstest.New(t, c.dialect)
		ref := journal.RandomRef()
		f.Put(ref, word, time.Now())
		a, err := f.Find(t, ref)
		if err != nil || len(a.Matches) != 1 || a.Matches[0].State != want {
			t.Errorf("state %q: %+v, %v; want %s", word, a.Matches, err, want)
		}
	}
}

// checkPages fills several pages and looks for what is on them.
func checkPages(t *testing.T, c contract) {
	t.Helper()
	if c.pages == 0 {
		return
	}
	f := packstest.New(t, c.dialect)
	ref := journal.RandomRef()
	want := 1
	start := time.Now().Add(-30 * time.Minute)
	f.Put(ref, "", start)
	for i := range c.pages {
		carrier := journal.RandomRef()
		if c.class != evidence.L5 { // a filter leaves others out: the same reference, again and again
			carrier, want = ref, want+1
		}
		f.Put(carrier, "", start.Add(time.Duration(i)*time.Second))
	}
	if c.class == evidence.L5 {
		f.Put(ref, "", start.Add(20*time.Minute))
		want = 2
	}
	a, err := f.Find(t, ref)
	if err != nil || len(a.Matches) != want || !a.AllPagesRead || a.Unrelated != 0 {
		t.Errorf("%d matches, want %d; all read %v, %d unrelated, %v", len(a.Matches), want, a.AllPagesRead, a.Unrelated, err)
	}
}

func checkWriter(t *testing.T, c contract) {
	t.Helper()
	ref := journal.RandomRef()
	in, err := packstest.New(t, c.dialect).Adapter(t).Instruction(ref, 2)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, f := range in.Fields {
		values[f.Name] = f.Value
	}
	for name, want := range c.fields {
		want = strings.NewReplacer("REF", ref, "UUIDKEY", journal.Dashed(journal.ProviderKey(ref, 2)), "UUID", journal.Dashed(ref), "KEY", journal.ProviderKey(ref, 2)).Replace(want)
		if values[name] != want {
			t.Errorf("field %q is %q, want %q", name, values[name], want)
		}
	}
}

// An account that does not see the details of private events can't tell that
// one of them is not there.
func TestGoogleCalendarRoles(t *testing.T) {
	t.Parallel()
	f := packstest.New(t, packstest.GoogleCalendar())
	f.Put(journal.RandomRef(), "", time.Now())
	if a, err := f.Find(t, journal.RandomRef()); !cleanEmpty(a, err) {
		t.Errorf("an owner: %+v, %v", a, err)
	}
	f.Put(journal.RandomRef(), "reader", time.Now())
	if a, err := f.Find(t, journal.RandomRef()); err != nil || cleanEmpty(a, err) {
		t.Errorf("a reader: %+v, %v", a, err)
	}
}

// Where a vendor's documents do not say how the reference is found, an empty
// answer proves nothing.
func TestUnconfirmedPacksProveNothing(t *testing.T) {
	t.Parallel()
	unconfirmed := []string{"freshdesk.ticket"}
	for name, c := range contracts() {
		sheet := packstest.New(t, c.dialect).Adapter(t).Sheet()
		if want := !slices.Contains(unconfirmed, name); sheet.Conclusive != want {
			t.Errorf("%s: conclusive %v, want %v", name, sheet.Conclusive, want)
		}
	}
}

// Parameters can't break out of the place that they stand in.
func TestT04_ParametersAreEncoded(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		pack, param, value string
		opens              bool
	}{
		{"gitlab.issue", "project", "../../users", false},
		{"gitlab.issue", "project", "acme/desk?private_token=x", false},
		{"github.issue", "repo", "desk/../../x", false},
		{"servicenow.record", "table", "incident?sysparm_query=", false},
		{"servicenow.record", "instance", "evil.example.com/", false},
		{"freshdesk.ticket", "domain", "acme.evil", false},
		{"freshdesk.ticket", "field", "cf_x^", false},
		{"mailgun.message", "domain", `x","values":[`, false},
		{"slack.message", "channel", "C0123&token=x", false},
		{"redmine.issue", "field", "9&x=1", false},
		{"salesforce.record", "object", "Case WHERE Id != null OR x", false},
		{"salesforce.record", "field", "Id = null OR Landed_Ref__c", false},
		{"hubspot.ticket", "property", `x","operator":"NEQ`, false},
		{"redmine.issue", "not_effective", `x" OR "1`, true}, // stands in no request
	} {
		t.Run(row.pack+" "+row.value, func(t *testing.T) {
			t.Parallel()
			cfg := packstest.New(t, contracts()[row.pack].dialect).Config(t)
			cfg.Params[row.param] = row.value
			if _, err := cfg.Open(); (err == nil) != row.opens {
				t.Errorf("opened with %q: %v", row.value, err)
			}
		})
	}
}

// A list that shows no tags is read row by row; the address that replies go to
// is in the list itself, so any number of rows can be compared.
func TestResendReplyTo(t *testing.T) {
	t.Parallel()
	f := packstest.New(t, packstest.Resend())
	f.Params = map[string]string{"carrier": "reply_to"}
	start, refs := time.Now().Add(-30*time.Minute), []string{journal.RandomRef(), journal.RandomRef()}
	f.Put(journal.RandomRef(), "", start.Add(-48*time.Hour)) // the last page: older than the window
	for i, ref := range refs {
		f.Put(ref, "", start.Add(time.Duration(i)*time.Second))
	}
	for i := range 300 {
		f.Put(journal.RandomRef(), "foreign", start.Add(time.Duration(10+i)*time.Second))
	}
	for i, ref := range refs { // with and without a name before the address
		if a, err := f.Find(t, ref); err != nil || len(a.Matches) != 1 || !a.AllPagesRead {
			t.Errorf("%d: %d matches, all read %v, %v", i, len(a.Matches), a.AllPagesRead, err)
		}
	}
	if a, err := f.Find(t, journal.RandomRef()); !cleanEmpty(a, err) {
		t.Errorf("nobody's reference: %+v, %v", a, err)
	}
	f.Params["carrier"] = "tag"
	if a, err := f.Find(t, journal.RandomRef()); cleanEmpty(a, err) {
		t.Errorf("300 emails of a window can't all have been read: %+v", a)
	}
}

// Recipients of one request are no double; a bounce hides no delivery; a busy
// window is said to be cut off, and what the category finds in it counts.
func TestSendGridMessages(t *testing.T) {
	t.Parallel()
	eff, not := journal.MatchEffective, journal.MatchNotEffective
	for _, row := range []struct {
		name   string
		states []string
		others int
		want   []journal.MatchState
		clean  bool // an empty answer may be believed
	}{
		{"one request, two recipients", []string{"delivered", "2nd delivered"}, 0, []journal.MatchState{eff}, false},
		{"one of two recipients bounced", []string{"bounced", "2nd delivered"}, 0, []journal.MatchState{not, eff}, false},
		{"two requests", []string{"delivered", "delivered"}, 0, []journal.MatchState{eff, eff}, false},
		{"the category was dropped", []string{"no category"}, 20, []journal.MatchState{eff}, false},
		{"busy window", []string{"delivered"}, 60, []journal.MatchState{eff}, false},
		{"nothing in a quiet window", nil, 40, nil, true},
		{"nothing in a busy window", nil, 41, nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			f := packstest.New(t, packstest.SendGrid())
			ref := journal.RandomRef()
			for _, s := range row.states {
				f.Put(ref, s, time.Now())
			}
			for range row.others {
				f.Put(journal.RandomRef(), "", time.Now())
			}
			a, err := f.Find(t, ref)
			var got []journal.MatchState
			for _, m := range a.Matches {
				got = append(got, m.State)
			}
			if diff := cmp.Diff(row.want, got); diff != "" || err != nil || cleanEmpty(a, err) != row.clean {
				t.Errorf("%s, %v, %+v", diff, err, a)
			}
		})
	}
}

// An incident that only its alert answers for may be ours or not.
func TestPagerDutyIncidentFoundByItsAlert(t *testing.T) {
	t.Parallel()
	f := packstest.New(t, packstest.PagerDuty())
	ref := journal.RandomRef()
	f.Put(ref, "by alert", time.Now())
	if a, err := f.Find(t, ref); err != nil || len(a.Matches) != 0 || cleanEmpty(a, err) {
		t.Errorf("%+v, %v", a, err)
	}
}

// A batch that failed for another reason than that nothing is there is no miss.
func TestHubSpotBatchThatFailed(t *testing.T) {
	t.Parallel()
	f := packstest.New(t, packstest.HubSpot())
	f.Put(journal.RandomRef(), "", time.Now())
	if a, err := f.Find(t, journal.RandomRef()); !cleanEmpty(a, err) {
		t.Errorf("nothing there: %+v, %v", a, err)
	}
	f.Put(journal.RandomRef(), "odd error", time.Now())
	if a, err := f.Find(t, journal.RandomRef()); err == nil {
		t.Errorf("another error read as an answer: %+v", a)
	}
}

// Metadata that is not indexed (yet) is not searched: nothing found then proves
// nothing.
func TestMandrillFieldThatIsNotIndexed(t *testing.T) {
	t.Parallel()
	f := packstest.New(t, packstest.Mandrill())
	if a, err := f.Find(t, journal.RandomRef()); !cleanEmpty(a, err) {
		t.Errorf("indexed: %+v, %v", a, err)
	}
	f.Put(journal.RandomRef(), "not indexed", time.Now())
	if a, err := f.Find(t, journal.RandomRef()); err != nil || cleanEmpty(a, err) {
		t.Errorf("not indexed: %+v, %v", a, err)
	}
	ref := journal.RandomRef()
	f.Put(ref, "foreign", time.Now()) // the word elsewhere in the message, metadata written as a list
	if a, err := f.Find(t, ref); err != nil || len(a.Matches) != 0 || a.Unrelated != 1 {
		t.Errorf("a row without metadata: %+v, %v", a, err)
	}
}

// Bodies that the account redacts can hold no mark that anybody could read.
func TestTwilioRedactedBodies(t *testing.T) {
	t.Parallel()
	f := packstest.New(t, packstest.Twilio())
	f.Put(journal.RandomRef(), "redacted", time.Now())
	a, err := f.Find(t, journal.RandomRef())
	if err != nil || cleanEmpty(a, err) {
		t.Errorf("redacted messages read as not found: %+v, %v", a, err)
	}
}

// An effect that is older than what one search may span is no miss.
func TestPayPalWindowOfMoreThanAMonth(t *testing.T) {
	t.Parallel()
	f := packstest.New(t, packstest.PayPal())
	s, err := f.Adapter(t).Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Now()
	// The real service refuses such a range; a fake that takes it must not help.
	a, err := s.Find(t.Context(), evidence.Query{Ref: journal.RandomRef(), From: now.Add(-744*time.Hour + time.Minute), To: now.Add(10 * time.Minute)})
	if err != nil || !cleanEmpty(a, err) {
		t.Errorf("31 days: %+v, %v", a.Scopes, err)
	}
}
