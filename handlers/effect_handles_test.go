package handlers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// journaled adds a handle of attempt 1 that was noted ago.
func journaled(kind, value string, ago time.Duration) func(*journal.Case) {
	return func(k *journal.Case) {
		k.Handles = append(k.Handles, journal.Handle{Attempt: 1, Kind: kind, Value: value, At: before(ago)})
	}
}

// requested sets what the newest look sent.
func requested(request string) func(*journal.Case) {
	return func(k *journal.Case) { k.Evidence[0].Exchanges = []journal.Exchange{{Request: request}} }
}

func TestEvidenceSaysWhetherItIsAReadOrASearch(t *testing.T) {
	t.Parallel()
	draft := journaled("draft", "d-1", 3*time.Hour)
	matched := func(m journal.Match) func(*journal.Case) {
		return func(k *journal.Case) { k.Evidence[0].Matches = []journal.Match{m} }
	}
	for _, tt := range []struct {
		name string
		k    journal.Case
		want []string
	}{
		{"no handle, no look", newCase(40), []string{"No id was journaled before the effect: evidence is a search for the reference."}},
		{"no handle, looked", newCase(40, notFound(time.Minute)), []string{"No id was journaled before the effect: this look was a search for the reference."}},
		{"no handle, nobody to ask", newCase(40, func(k *journal.Case) { k.CanLook = false }), nil},
		{"handle, no look", newCase(40, draft), []string{"draft d-1 was journaled before the effect, by attempt 1: evidence reads it by its id, where the adapter knows this kind, and does not depend on a search."}},
		{"handle, nobody to ask", newCase(40, draft, func(k *journal.Case) { k.CanLook = false }), []string{"no adapter is set up"}},
		{"handle, read in a path", newCase(40, draft, notFound(time.Minute), requested("GET /drafts/d-1?format=minimal")), []string{"evidence reads it by its id; the look below did."}},
		{"handle, read in a list", newCase(40, draft, notFound(time.Minute), requested(`{"ids":["d-1"]}`)), []string{"the look below did."}},
		{"handle, encoded", newCase(40, journaled("graph_message", "AA=/1", time.Hour), notFound(time.Minute), requested("GET /messages/AA=%2F1")), []string{"graph message AA=/1 was journaled", "the look below did."}},
		{"handle, another id was read", newCase(40, draft, notFound(time.Minute), requested("GET /drafts/d-17")), []string{"the look below did not read it by its id: it was a search for the reference."}},
		{"handle, not read", newCase(40, draft, notFound(time.Minute)), []string{"did not read it by its id"}},
		{"handle, the match bears it", newCase(40, draft, found(time.Minute), matched(journal.Match{ID: "d-1", State: journal.MatchEffective})), []string{"the look below did."}},
		{"handle, the match names its kind", newCase(40, draft, found(time.Minute), matched(journal.Match{ID: "m-9", Carrier: "handle draft", State: journal.MatchEffective})), []string{"the look below did."}},
		{"handle after the look", newCase(40, journaled("draft", "d-1", 10*time.Second), notFound(time.Minute)), []string{"it came after the look below: the next one can read it by its id."}},
		{"the same handle of two attempts", newCase(40, draft, draft), []string{"draft d-1"}},
		{"two handles", newCase(40, draft, journaled("thread", "t-1", time.Hour)), []string{"draft d-1", "thread t-1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, &fakeJournal{cases: []journal.Case{tt.k}})
			w := s.get(web.EffectURL(tt.k.Effect.ID))
			wantStatus(t, w, http.StatusOK)
			notes := parse(t, w).Find("#evidence .handle")
			text := squash(notes.Text())
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("the page says %q, want it to hold %q", text, want)
				}
			}
			if (len(tt.want) == 0) != (notes.Length() == 0) || tt.name == "the same handle of two attempts" && notes.Length() != 1 {
				t.Errorf("%d notes: %q", notes.Length(), text)
			}
		})
	}
}

func TestNamesID(t *testing.T) {
	t.Parallel()
	got := map[string]bool{}
	for _, text := range []string{"GET /drafts/d-1", "d-1", "d-17", "bad-1", "d-17 and d-1", "/d-1/send", "", "d-1_x"} {
		got[text] = namesID(text, "d-1")
	}
	want := map[string]bool{"GET /drafts/d-1": true, "d-1": true, "d-17": false, "bad-1": false, "d-17 and d-1": true, "/d-1/send": true, "": false, "d-1_x": false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("namesID (-want +got):\n%s", diff)
	}
	if namesID("anything", "") {
		t.Error("an empty id is named")
	}
}

// What a worker journals is shown, never obeyed.
func TestHandlesAreShownAsText(t *testing.T) {
	t.Parallel()
	k := newCase(41, journaled("draft", "<script>alert(1)</script>\u202e", time.Hour))
	w := newSite(t, &fakeJournal{cases: []journal.Case{k}}).get(web.EffectURL(k.Effect.ID))
	doc := parse(t, w)
	if doc.Find("#evidence script").Length() != 0 || strings.Contains(w.Body.String(), "\u202e") {
		t.Error("a handle's value reaches the page raw")
	}
	wantText(t, doc, "#evidence .handle code", "<script>alert(1)</script>")
}
