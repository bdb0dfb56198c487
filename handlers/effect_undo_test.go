package handlers

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// undoing gives the tool the policy, and the run completed effects.
func undoing(us ...journal.Undoable) func(*journal.Case) {
	return func(k *journal.Case) { k.CompensateRun, k.Undoable = true, us }
}

func booked() []journal.Undoable {
	return []journal.Undoable{
		{EffectID: caseID(91), Tool: "hotel.book", CompensatedBy: "hotel.cancel", Operation: "book", Subject: "Hotel in Graz", Amount: "120.00", Currency: "EUR",
			Undo: journal.StateParked, ProbablyDouble: true},
		{EffectID: caseID(90), Tool: "flight.book", CompensatedBy: "flight.cancel", Operation: "book flight"},
	}
}

func TestUndoBox(t *testing.T) {
	t.Parallel()
	many := make([]journal.Undoable, journal.MaxUndoPage)
	for _, c := range []struct {
		name   string
		verb   journal.Verb
		change func(*journal.Case)
		lead   string // "" = no box
		rows   int
		more   bool
	}{
		{"another verb", journal.VerbCloseLanded, undoing(booked()...), "", 0, false},
		{"a re-issue", journal.VerbReissue, undoing(booked()...), "", 0, false},
		{"no such policy", journal.VerbCloseNotLanded, func(*journal.Case) {}, "", 0, false},
		{"nothing completed", journal.VerbCloseNotLanded, undoing(), "completed nothing that can be undone", 0, false},
		{"one", journal.VerbCloseNotLanded, undoing(booked()[:1]...), "the run’s completed effect.", 1, false},
		{"two", journal.VerbCloseNotLanded, undoing(booked()...), "the run’s 2 completed effects, the last one first", 2, false},
		{"as many as are read", journal.VerbCloseNotLanded, undoing(many...), "at least 200 effects", 200, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newCase(2, c.change)
			b := undoBox(&k, c.verb)
			if (b == nil) != (c.lead == "") {
				t.Fatalf("box: %+v", b)
			}
			if b != nil && (!strings.Contains(b.Lead, c.lead) || len(b.Rows) != c.rows || (b.More != "") != c.more) {
				t.Errorf("%q, %d rows, more %q", b.Lead, len(b.Rows), b.More)
			}
		})
	}
	k := newCase(2, undoing(booked()...))
	got := undoBox(&k, journal.VerbCloseNotLanded).Rows
	want := []string{"Hotel in Graz|hotel.book|hotel.cancel|Its undo waits for a decision. It probably happened twice: one undo undoes one.", "book flight|flight.book|flight.cancel|"}
	var have []string
	for _, r := range got {
		have = append(have, fmt.Sprintf("%s|%s|%s|%s", r.Subject, r.Tool, r.By, r.Note))
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("rows:\n%s", d)
	}
	if got[0].Money.Empty() || got[0].URL != web.EffectURL(caseID(91)) {
		t.Errorf("the first row is %+v", got[0])
	}
}

// Whoever closes, and whoever approves it, sees what would be undone first.
func TestUndoIsShownBeforeDeciding(t *testing.T) {
	t.Parallel()
	f := everything()
	for i := range f.cases {
		if f.cases[i].Effect.ID == caseID(2) {
			undoing(booked()...)(&f.cases[i])
		}
	}
	s := newSite(t, f)
	doc := parse(t, s.get(web.EffectURL(caseID(2))))
	choice := doc.Find(`input[value=close_not_landed]`).Closest(".choice")
	if text := squash(choice.Text()); !strings.Contains(text, "The runtime is asked to undo the run’s 2 completed effects") || !strings.Contains(text, "Hotel in Graz") {
		t.Errorf("the form says %q", text)
	}
	if n := choice.Find("details ol li a[href='" + web.EffectURL(caseID(91)) + "']").Length(); n != 1 {
		t.Errorf("%d links to the effect that would be undone first", n)
	}
	if doc.Find(`input[value=close_landed]`).Closest(".choice").Find("details").Length() != 0 {
		t.Error("closing as landed undoes nothing")
	}
	w := s.post(web.ConfirmURL(caseID(2)), decision(byName("not found"), "close_not_landed")...)
	wantStatus(t, w, http.StatusOK)
	doc = parse(t, w)
	wantText(t, doc, ".confirm", "The runtime is asked to undo the run’s 2 completed effects, the last one first.")
	if got := doc.Find(".confirm ol li").Length(); got != 2 {
		t.Errorf("the confirmation lists %d effects", got)
	}
	w = s.post(web.ConfirmURL(caseID(2)), decision(byName("not found"), "reissue/new_key")...)
	if text := parse(t, w).Find(".confirm").Text(); strings.Contains(text, "What would be undone") {
		t.Error("a re-issue undoes nothing")
	}
}

func TestProposalShowsWhatWouldBeUndone(t *testing.T) {
	t.Parallel()
	k := newCase(2, tooEarly(2*time.Hour+50*time.Minute, -2*time.Hour), notFound(4*time.Minute), undoing(booked()...))
	k.Proposal = &journal.Proposal{ID: "p", Version: k.Effect.Version, CreatedAt: before(time.Minute), ExpiresAt: testNow().Add(time.Hour),
		Decision: journal.Decision{EffectID: k.Effect.ID, Verb: journal.VerbCloseNotLanded, Actor: operator(), Reason: "Nobody got it."}}
	a := journal.Assess(&k.Snapshot)
	b := newProposalBox(clock{k.Now}, &k, a, effectView{Who: operator()})
	if b == nil || b.Undo == nil || len(b.Undo.Rows) != 2 {
		t.Errorf("the second person sees %+v", b)
	}
}

// An effect and its compensation name each other.
func TestCompensationIsLinkedBothWays(t *testing.T) {
	t.Parallel()
	undone := newCase(1, func(k *journal.Case) { k.Compensation = &journal.Sibling{ID: caseID(2), State: journal.StateParked} })
	undo := newCase(2, set(func(e *journal.Effect) { e.Compensates = caseID(1) }))
	for name, c := range map[string]struct {
		k    journal.Case
		fact string
		to   string
	}{
		"the effect":       {undone, "Undone by (", caseID(2)},
		"its compensation": {undo, "Undoes", caseID(1)},
	} {
		found := false
		for _, f := range effectFacts(clock{testNow()}, &c.k, namesOf(&c.k, operator())) {
			found = found || strings.HasPrefix(f.Name, c.fact) && f.URL == web.EffectURL(c.to)
		}
		if !found {
			t.Errorf("%s does not link to the other", name)
		}
	}
}

func TestV01_UndoMarkupIsText(t *testing.T) {
	t.Parallel()
	f := everything()
	undoing(journal.Undoable{EffectID: caseID(9), Tool: markup, CompensatedBy: markup, Operation: markup, Subject: markup, Amount: markup, Currency: markup})(&f.cases[1])
	s := newSite(t, f)
	for name, w := range map[string]string{
		"form":         s.get(web.EffectURL(f.cases[1].Effect.ID)).Body.String(),
		"confirmation": s.post(web.ConfirmURL(f.cases[1].Effect.ID), decision(f.cases[1], "close_not_landed")...).Body.String(),
	} {
		if strings.Contains(w, markup) || !strings.Contains(w, "What would be undone") {
			t.Errorf("%s: markup %v", name, strings.Contains(w, markup))
		}
	}
}
