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

// feed gives what an example really wrote to the pack's fake provider, and has the
// pack look for the reference: it finds that one object and no other.
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

// carried is the reference as the first field that holds one brought it.
func carried(t *testing.T, g Guide, got recorded) string {
	t.Helper()
	for _, f := range g.Fields {
		if !f.Value.has(Ref, DashedRef) {
			continue
		}
		values, err := found(g.Name, f, got)
		if err != nil || len(values) != 1 {
			t.Fatalf("%s: %s holds %q: %v", g.Name, f.Name, values, err)
		}
		if hex := regexp.MustCompile(`[0-9a-f]{32}`).FindString(strings.ReplaceAll(values[0], "-", "")); hex != "" {
			return hex
		}
	}
	t.Fatalf("%s: no field brought a reference", g.Name)
	return ""
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
