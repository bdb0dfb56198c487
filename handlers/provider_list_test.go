package handlers

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/web"
)

func (f *fakeJournal) ProviderState(_ context.Context, name string) (journal.ProviderState, error) {
	return f.configured[name].state, f.readErr
}

func (f *fakeJournal) Providers() []string {
	var out []string
	for name := range f.configured {
		out = append(out, name)
	}
	return out
}

func (f *fakeJournal) Sheet(name string) (evidence.Sheet, bool) {
	one, ok := f.configured[name]
	return one.sheet, ok
}

func (f *fakeJournal) Use(name string) (evidence.Use, bool) {
	one, ok := f.configured[name]
	return one.use, ok
}

func (f *fakeJournal) Try(_ context.Context, name, ref string, since time.Duration) (evidence.Facts, evidence.Question, error) {
	f.wrote("try " + name + " " + ref + " " + since.String())
	if f.try == nil {
		return evidence.Facts{}, evidence.Question{Ref: ref}, nil
	}
	return f.try(ref, since)
}

func ago(d time.Duration) *time.Time {
	t := before(d)
	return &t
}

// newProvider is a healthy mailbox with a measured lag.
func newProvider(name string, change ...func(*providerView)) providerView {
	one := providerView{name: name,
		sheet: evidence.Sheet{Kind: "imap", Version: "3", Class: evidence.L2, ProcessingHorizon: 2 * time.Minute, IndexLag: 5 * time.Second,
			Scopes: []string{"Sent folder"}, Mode: "live", Conclusive: true},
		use: evidence.Use{Limits: evidence.Limits{Concurrency: 2, LooksPerMinute: 30}, Running: 1, LastMinute: 12},
		state: journal.ProviderState{Provider: name, Now: testNow(), LastOKAt: ago(time.Minute), ControlAt: ago(2 * time.Minute), ControlOK: true,
			Lag: journal.Lag{Samples: 40, P50: 300 * time.Millisecond, P99: 4 * time.Second, Max: 9 * time.Second, Newest: ago(time.Hour)}}}
	for _, f := range change {
		f(&one)
	}
	return one
}

func providerSheet(f func(*evidence.Sheet)) func(*providerView) {
	return func(one *providerView) { f(&one.sheet) }
}

func state(f func(*journal.ProviderState)) func(*providerView) {
	return func(one *providerView) { f(&one.state) }
}

// everyProvider has one provider in each state, by what the state is called.
func everyProvider() map[string]providerView {
	list := []providerView{
		newProvider("sent-mail"),
		newProvider("paused", state(func(s *journal.ProviderState) {
			until := testNow().Add(4 * time.Minute)
			s.LastFaultAt, s.LastFault, s.PausedUntil = ago(time.Second), "429 Too Many Requests", &until
		})),
		newProvider("failing", state(func(s *journal.ProviderState) {
			s.LastFaultAt, s.LastFault, s.Due = ago(time.Second), "the provider did not answer in time", 1000
		})),
		newProvider("never", state(func(s *journal.ProviderState) { *s = journal.ProviderState{Now: testNow()} })),
		newProvider("distrusted", state(func(s *journal.ProviderState) {
			s.ControlOK, s.ControlWhy, s.Due = false, "a reference that nobody has brought 3 rows", 1
		})),
		newProvider("unproven", state(func(s *journal.ProviderState) { s.ControlAt, s.Lag = nil, journal.Lag{} })),
		newProvider("inconclusive", providerSheet(func(s *evidence.Sheet) {
			s.Conclusive, s.InconclusiveWhy = false, "The sending path keeps no copy."
		})),
		newProvider("lossy/sandbox:2", providerSheet(func(s *evidence.Sheet) {
			s.Mode, s.Class, s.Retention, s.IndexLag = "test", evidence.L3, 30*24*time.Hour, time.Minute
			s.Native = evidence.NativeIdempotency{Header: "Idempotency-Key", Window: 24 * time.Hour, ErrorsKept: true, BodyCompared: true}
		}), state(func(s *journal.ProviderState) { s.Lag.Lost = 2 })),
	}
	out := map[string]providerView{}
	for _, one := range list {
		out[one.name] = one
	}
	return out
}

func TestNewProviderListPageWhole(t *testing.T) {
	t.Parallel()
	one := newProvider("sent-mail", providerSheet(func(s *evidence.Sheet) { s.Scopes = []string{"Sent", "Archive"} }))
	fact := func(name, value string) web.Fact { return web.Fact{Name: name, Value: web.Plain(value)} }
	want := web.ProviderListPage{
		Summary: "1 provider can be asked whether an effect landed; 1 healthy. Landed only reads there.",
		Jumps:   []web.ProviderJump{{Name: web.Plain("sent-mail"), URL: "#p-sent-mail", Health: web.Badge{Tone: web.ToneGood, Text: "Healthy"}}},
		Cards: []web.ProviderCard{{
			ID: "sent-mail", Name: web.Plain("sent-mail"), Kind: web.Plain("imap"), Mode: web.Badge{Tone: web.ToneInfo, Text: "Live"},
			Looks: "Landed filters for the exact reference in the provider’s own records, so what is there can be found at once.",
			Health: web.ProviderHealth{
				Badge: web.Badge{Tone: web.ToneGood, Text: "Healthy"}, Title: "It answers, and its controls passed.",
				Worth: "It counts as “not found” from 12 s after the last moment at which a request could still land, if both controls pass again in that look.",
				Facts: []web.Fact{{Name: "Last proper answer", At: stampAt("2 Nov 2026, 03:11:45 UTC", "1 min ago")}, fact("Last fault", "never"),
					{Name: "Controls last ran", At: stampAt("2 Nov 2026, 03:10:45 UTC", "2 min ago")}, fact("Controls", "both passed"), fact("Due now", "none")},
			},
			Pace: web.PacePanel{
				Facts: []web.Fact{fact("At a time", "2 turns at most; 1 under way"), fact("A minute", "30 turns at most; 12 in the last minute"), fact("Pause", "none")},
				Note:  "Limits hold for each process of Landed; the figures are this one’s. Effects that are looked for together take one turn.",
			},
			Lag: web.LagPanel{InForce: "12 s in force", Why: "The measured one counts: three times the 99th percentile, 4 s, is more than the 5 s that the adapter declares.",
				Facts: []web.Fact{fact("Declared by the adapter", "5 s"), fact("Half showed within (p50)", "300 ms"), fact("99 of 100 within (p99)", "4 s"),
					fact("Slowest (max)", "9 s"), fact("Samples", "40"), fact("Never showed (lost)", "0"),
					{Name: "Newest sample", At: stampAt("2 Nov 2026, 02:12:45 UTC", "1 h ago")}}},
			Sheet: []web.SheetRow{
				{Name: "How it looks", Value: []web.Text{web.Plain("exact filter (L2)")}, Means: "Landed filters for the exact reference in the provider’s own records, so what is there can be found at once."},
				{Name: "Empty answer", Value: []web.Text{web.Plain("can prove that it is not there")}, Means: "If the waiting time is over, every page and place was read and both controls passed."},
				{Name: "Places it covers", Value: []web.Text{web.Plain("Sent"), web.Plain("Archive")}, Means: "An empty answer counts only if every one of them could be searched."},
				{Name: "Mode", Value: []web.Text{web.Plain("live")}, Means: "It sees real effects."},
				{Name: "Index lag", Value: []web.Text{web.Plain("5 s")}, Means: "How long the provider may take to show what has landed. A longer measured lag overrules it."},
				{Name: "Processing horizon", Value: []web.Text{web.Plain("2 min")}, Means: "How long a request that the provider took can still land after the worker gave up."},
				{Name: "Retention", Value: []web.Text{web.Plain("until somebody deletes it")}, Means: "The age of an effect does not matter."},
				{Name: "Repeats of one key", Value: []web.Text{web.Plain("not dropped")}, Means: "The provider takes a repeat as new: it would happen twice."},
				{Name: "Adapter", Value: []web.Text{web.Plain("imap 3")}, Means: "The version changes when the way of looking changes; it is kept with every piece of evidence."},
			},
			Guide: web.ProviderGuide{NoAdvice: noGuide},
			Try: web.TryBox{URL: "/providers#try-sent-mail", Provider: "sent-mail", Since: []web.Option{{Value: "1h", Text: "1 hour"},
				{Value: "6h", Text: "6 hours"}, {Value: "24h", Text: "1 day", Selected: true}, {Value: "168h", Text: "7 days"},
				{Value: "720h", Text: "30 days"}, {Value: "2160h", Text: "90 days"}}},
		}},
	}
	got := newProviderListPage(web.Shell{}, []providerView{one}, tryView{who: operator(), since: trySinceDefault})
	if diff := cmp.Diff(want, got, sameText()); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

func TestProviderHealth(t *testing.T) {
	t.Parallel()
	all := everyProvider()
	for _, tt := range []struct {
		name, badge, title, said, worth string
		tone                            web.Tone
	}{
		{"sent-mail", "Healthy", "its controls passed", "", "“not found” from 12 s after", web.ToneGood},
		{"paused", "Paused", "asked to be left alone", "429 Too Many", "Nothing for now", web.ToneWait},
		{"failing", "Failing", "not answered properly", "did not answer in time", "Nothing for now", web.ToneStop},
		{"never", "Not asked yet", "not been asked yet", "", "Nothing for now", web.ToneQuiet},
		{"distrusted", "Not trusted", "a control failed", "nobody has brought 3 rows", "Nothing for now", web.ToneStop},
		{"unproven", "Healthy, unproven", "not proven yet", "", "until a look has run both controls", web.ToneInfo},
		{"inconclusive", "Healthy, inconclusive", "can only confirm", "", "however healthy it is: The sending path keeps no copy.", web.ToneWarn},
		{"lossy/sandbox:2", "Healthy", "its controls passed", "", "“not found” from 1 min after", web.ToneGood},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := providerHealth(clock{testNow()}, all[tt.name])
			if h.Badge != (web.Badge{Tone: tt.tone, Text: tt.badge}) {
				t.Errorf("badge %+v", h.Badge)
			}
			for got, want := range map[string]string{h.Title: tt.title, h.Said.String(): tt.said, h.Worth: tt.worth} {
				if !strings.Contains(got, want) || want == "" && got != "" {
					t.Errorf("got %q, want it to hold %q", got, want)
				}
			}
			if all[tt.name].state.Healthy() != strings.HasPrefix(tt.badge, "Healthy") {
				t.Error("the badge says otherwise than the journal")
			}
		})
	}
}

func TestLagInForce(t *testing.T) {
	t.Parallel()
	all := everyProvider()
	for _, tt := range []struct{ name, inForce, why, unknown, lost string }{
		{"sent-mail", "12 s", "The measured one counts", "", ""},
		{"unproven", "5 s", "there is no measured one", "Not measured yet", ""},
		{"lossy/sandbox:2", "1 min", "is 12 s, which is not more", "", "2 committed effects of 40 never showed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := lagPanel(clock{testNow()}, all[tt.name])
			for got, want := range map[string]string{p.InForce: tt.inForce, p.Why: tt.why, p.Unknown: tt.unknown, p.Lost: tt.lost} {
				if !strings.Contains(got, want) || want == "" && got != "" {
					t.Errorf("got %q, want it to hold %q", got, want)
				}
			}
		})
	}
}

func TestEveryLookupClassIsExplained(t *testing.T) {
	t.Parallel()
	for _, c := range []evidence.LookupClass{evidence.L1, evidence.L2, evidence.L3, evidence.L4, evidence.L5, evidence.L6} {
		if strings.Contains(lookupSentence(c), string(c)) || !strings.HasSuffix(lookupName(c), "("+string(c)+")") {
			t.Errorf("%s: %q, %q", c, lookupName(c), lookupSentence(c))
		}
	}
	one := newProvider("fax", providerSheet(func(s *evidence.Sheet) { s.Class, s.Conclusive, s.InconclusiveWhy = evidence.L6, false, "" }))
	if got := emptyWorth(one); !strings.Contains(got, "can’t be asked for our reference") {
		t.Errorf("worth %q", got)
	}
	if got := sheetRows(one.sheet)[1]; got.Value[0].String() != "proves nothing" || !strings.Contains(got.Means, "What is found still counts") {
		t.Errorf("sheet row %+v", got)
	}
}

func TestProvidersPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, everything())
	w := s.get(web.RouteProviders)
	wantStatus(t, w, http.StatusOK)
	doc := parse(t, w)
	wantText(t, doc, ".lede", "8 providers can be asked whether an effect landed; 4 healthy.")
	wantText(t, doc, "nav[aria-label=Pages] a[aria-current=page]", "Providers")
	names := doc.Find(".provider h2").Map(func(_ int, n *goquery.Selection) string { return squash(n.Text()) })
	if diff := cmp.Diff([]string{"distrusted", "failing", "inconclusive", "lossy/sandbox:2", "never", "paused", "sent-mail", "unproven"}, names); diff != "" {
		t.Errorf("not sorted (-want +got):\n%s", diff)
	}
	wantText(t, doc, "#p-failing", "Due now1 000 looks or more")
	wantText(t, doc, "#p-paused", "Not now: the provider asked to be left alone")
	if doc.Find("#p-paused form").Length() != 0 || doc.Find("#p-sent-mail form").Length() != 1 {
		t.Error("the form is offered where it may not be, or not where it may")
	}
	lossy := doc.Find(`[id="p-lossy/sandbox:2"]`)
	for _, want := range []string{"Test mode", "search index (L3)", "30 d", "dropped for 24 h, by Idempotency-Key", "That goes for errors too. It refuses the same key with another content."} {
		if !strings.Contains(squash(lossy.Text()), want) {
			t.Errorf("no %q in the card", want)
		}
	}
	if diff := cmp.Diff([]string{web.RouteProviders}, s.f.views); diff != "" {
		t.Errorf("views (-want +got):\n%s", diff)
	}
}

func TestNoProviderSaysHowToAddOne(t *testing.T) {
	t.Parallel()
	doc := parse(t, newSite(t, &fakeJournal{}).get(web.RouteProviders))
	wantText(t, doc, ".empty", "No provider is configured")
	wantText(t, doc, ".empty pre", "providers: helpdesk: rt:")
	if doc.Find(".provider").Length() != 0 {
		t.Error("there is a card")
	}
}

func TestWhoMaySeeProviders(t *testing.T) {
	t.Parallel()
	for _, role := range []journal.Role{journal.RoleViewer, journal.RoleAuditor, journal.RoleAdmin} {
		doc := parse(t, newSite(t, everything(), role).get(web.RouteProviders))
		wantText(t, doc, "#p-sent-mail", "To try a look-up you need the role operator or approver.")
		if doc.Find("main form").Length() != 0 {
			t.Errorf("%s is offered a form", role)
		}
	}
	f := everything()
	f.readErr = journal.ErrUnavailable
	wantStatus(t, newSite(t, f).get(web.RouteProviders), http.StatusServiceUnavailable)
}
