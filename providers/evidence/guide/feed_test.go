package guide

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/providers/evidence/graph"
	"github.com/landedhq/landed/providers/evidence/jira"
	"github.com/landedhq/landed/providers/evidence/jmap"
	"github.com/landedhq/landed/providers/evidence/mailref"
	"github.com/landedhq/landed/providers/evidence/packs/packstest"
	"github.com/landedhq/landed/providers/evidence/rt"
	"github.com/landedhq/landed/providers/evidence/stripe"
	"github.com/landedhq/landed/providers/evidence/zendesk"
)

// stored is where a provider takes from what it gives back in the field that the
// pack reads. It is written here by hand, not derived from the pack: a pack whose
// writer's side names another place than its look reads is found out.
func stored() map[string]Field {
	at := func(place, name string) Field { return Field{Place: place, Name: name} }
	return map[string]Field{
		"adyen.transfer":        at("json", "reference"),
		"braintree.transaction": at("graphql", "input.transaction.orderId"),
		"brevo.message":         at("json", "tags[]"),
		"freshdesk.ticket":      at("json", "custom_fields.cf_landed_ref"),
		"github.comment":        at("json", "body"),
		"github.issue":          at("json", "body"),
		"gitlab.issue":          at("json", "description"),
		"google.calendar_event": at("json", "extendedProperties.private.landed_ref"),
		"hubspot.ticket":        at("json", "properties.landed_ref"),
		"intercom.contact":      at("json", "external_id"),
		"linear.issue":          at("graphql", "input.id"),
		"mailgun.message":       at("form", "v:landed_ref"),
		"mandrill.message":      at("json", "message.metadata.landed_ref"),
		"pagerduty.incident":    at("json", "incident.incident_key"),
		"paypal.transaction":    at("json", "purchase_units[0].custom_id"),
		"postmark.message":      at("json", "Metadata.landed_ref"),
		"redmine.issue":         at("json", "issue.custom_fields[] (an object with id 9)"),
		"resend.email":          at("json", "tags[] (an object with name landed_ref)"),
		"salesforce.record":     at("json", "Landed_Ref__c"),
		"sendgrid.message":      at("json", "categories[]"),
		"servicenow.record":     at("json", "correlation_id"),
		"slack.message":         at("json", "metadata.event_payload.landed_ref"),
		"square.payment":        at("json", "reference_id"),
		"status.endpoint":       at("header", "Landed-Ref"),
		"twilio.message":        at("form", "Body"),
	}
}

// feed gives what an example really wrote, at the place where the provider stores it,
// to the pack's fake provider, and has the pack look for the reference: it finds that
// one object and no other.
func feed(t *testing.T, g Guide, got recorded, ref string) {
	t.Helper()
	for _, d := range packstest.Dialects() {
		if d.Pack != g.Name {
			continue
		}
		f := packstest.New(t, d)
		f.Put(carried(t, g, got), "", time.Now())
		if a, err := f.Find(t, ref); err != nil || len(a.Matches) != 1 {
			t.Errorf("%s: the pack finds %d objects with what the example wrote: %v", g.Name, len(a.Matches), err)
		}
	}
}

// carried is what the provider stores of the request: a reference in the form that
// packstest puts into its objects. Texts must hold the very mark that they hold there.
func carried(t *testing.T, g Guide, got recorded) string {
	t.Helper()
	at, ok := stored()[g.Name]
	if !ok {
		t.Fatalf("%s: say in stored where its provider takes the reference from", g.Name)
	}
	values, err := found(g.Name, at, got)
	if err != nil || len(values) != 1 {
		t.Errorf("%s: %s holds %q: %v", g.Name, at.Name, values, err)
		return ""
	}
	mark := map[string]string{
		"github.issue": `\n\n<!-- landed:(\w+) -->$`, "github.comment": `\n\n<!-- landed:(\w+) -->$`, "gitlab.issue": `\n\n<!-- landed:(\w+) -->$`, "twilio.message": ` ref:(\w+)$`,
	}[g.Name]
	if mark == "" {
		return strings.ReplaceAll(values[0], "-", "")
	}
	m := regexp.MustCompile(mark).FindStringSubmatch(values[0])
	if m == nil {
		t.Errorf("%s: %q holds no mark", g.Name, values[0])
		return ""
	}
	return m[1]
}

// checkWriter compares what an example wrote with what the adapter's own functions
// for workers give: what they write must be in it.
func checkWriter(t *testing.T, name string, got recorded, ref string) {
	t.Helper()
	var want any
	var err error
	switch name {
	case "rt":
		want, err = decoded(rt.CreateBody(rt.NewTicket{Queue: "Support", Subject: "A parcel is late", Content: "Order A-17"}, "", ref))
	case "zendesk":
		want, err = decoded(zendesk.CreateBody(map[string]any{"subject": "A parcel is late"}, ref))
	case "jira":
		want, err = decoded(jira.CreateBody(map[string]any{"summary": "A parcel is late"}, jira.Marks{}, ref))
	case "graph":
		want, err = graph.Properties(mailref.Carrier{}, ref)
		want = map[string]any{"message": want}
	case "jmap":
		want, err = jmap.Properties("", "", ref)
	case "stripe":
		var form url.Values
		form, err = stripe.Form(nil, "", ref)
		have, _ := url.ParseQuery(string(got.Body))
		if diff := cmp.Diff(form, url.Values{"metadata[landed_ref]": have["metadata[landed_ref]"]}); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		return
	default:
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	have, err := document(name, got)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(want)
	if err != nil || json.Unmarshal(raw, &want) != nil {
		t.Fatal(err)
	}
	if !holds(have, want) {
		t.Errorf("%s: %s does not hold %s", name, got.Body, raw)
	}
}

func decoded(b []byte, err error) (any, error) {
	var out any
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	return out, err
}

// holds reports whether want is a part of have; lists must be the same.
func holds(have, want any) bool {
	w, ok := want.(map[string]any)
	if !ok {
		return cmp.Equal(have, want)
	}
	h, ok := have.(map[string]any)
	for name, v := range w {
		ok = ok && holds(h[name], v)
	}
	return ok
}
