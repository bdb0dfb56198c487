package conform

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
)

func compensationCases() []testCase {
	return []testCase{
		{"compensation/what is left to undo, newest first", undoList},
		{"compensation/page by page", undoPages},
		{"compensation/a page ends where it grows too large", undoLarge},
		{"compensation/begin, once", undoBegin},
		{"compensation/of what may not be undone", undoRefused},
		{"compensation/a refusal goes to the operator", undoParked},
		{"compensation/closing as not landed asks the runtime", undoAsked},
		{"compensation/after a recovery it is parked at birth", undoRestored},
		{"compensation/of a query that can't be used", undoQuery},
	}
}

// booked registers a tool with its compensating one and commits an effect of it.
func (d *desk) booked(step string) (journal.BeginRequest, journal.BeginAnswer) {
	d.Helper()
	for _, tool := range []journal.Tool{
		{Name: "book", Class: journal.ClassAtMostOnce, ClientTimeout: 10 * time.Second, CompensatedBy: "cancel", CompensateRun: true},
		{Name: "cancel", Class: journal.ClassAtMostOnce, ClientTimeout: 10 * time.Second},
	} {
		if err := d.RegisterTool(d.Context(), tool); err != nil {
			d.Fatal(err)
		}
	}
	r := request("book", "run-1/"+step)
	r.Step, r.Subject, r.Amount, r.Currency = step, "Book "+step, "12.50", "EUR"
	a := d.begin(r, journal.DirectiveExecute)
	d.commit(report(r, a), "b-"+step, []byte(`{"n": 1}`))
	return r, a
}

// undo shapes the compensation of an effect.
func undo(a journal.BeginAnswer) journal.BeginRequest {
	key, err := journal.UndoKey("run-1", a.EffectID)
	if err != nil {
		panic(err)
	}
	r := request("cancel", key)
	r.Step, r.Turn, r.Compensates = "undo", "undo/"+a.EffectID, a.EffectID
	return r
}

func (d *desk) undoable(q journal.UndoQuery) journal.UndoPage {
	d.Helper()
	p, err := d.Undoable(d.Context(), q)
	if err != nil {
		d.Fatalf("undoable: %v", err)
	}
	return p
}

// left are the provider ids of what is left of run-1, and where each undo stands.
func (d *desk) left() []string {
	d.Helper()
	var out []string
	for _, u := range d.undoable(journal.UndoQuery{RootRun: "run-1"}).Effects {
		out = append(out, u.ProviderID+string(u.Undo))
	}
	return out
}

func (d *desk) wantLeft(want ...string) {
	d.Helper()
	if diff := cmp.Diff(want, d.left()); diff != "" {
		d.Errorf("left to undo (-want +got):\n%s", diff)
	}
}

func undoList(d *desk) {
	_, flight := d.booked("flight")
	r, hotel := d.booked("hotel")
	d.commit(report(r, d.begin(request("mail.send", "run-1/mail"), journal.DirectiveExecute)), "m", nil) // nothing undoes a mail
	other := request("book", "run-2/x")
	other.RootRun = "run-2"
	d.commit(report(other, d.begin(other, journal.DirectiveExecute)), "b-other", nil)
	elsewhere := request("book", "run-1/x")
	elsewhere.Namespace = "shop"
	d.commit(report(elsewhere, d.begin(elsewhere, journal.DirectiveExecute)), "b-shop", nil)
	open := request("book", "run-1/open")
	d.begin(open, journal.DirectiveExecute)
	d.wantLeft("b-hotel", "b-flight")
	first := d.begin(undo(hotel), journal.DirectiveExecute)
	d.wantLeft("b-hotelINTENT", "b-flight")
	page := d.undoable(journal.UndoQuery{RootRun: "run-1"})
	got := page.Effects[0]
	want := journal.Undoable{EffectID: hotel.EffectID, Tool: "book", CompensatedBy: "cancel", Operation: "do", Subject: "Book hotel", Amount: "12.50",
		Currency: "EUR", Args: []byte(`{"order":"A1","note":"x"}`), Result: []byte(`{"n": 1}`), ProviderID: "b-hotel", CompletedAt: got.CompletedAt,
		Undo: journal.StateIntent, Compensation: first.EffectID}
	if diff := cmp.Diff(want, got); diff != "" || time.Since(got.CompletedAt).Abs() > time.Minute {
		d.Errorf("completed at %v:\n%s", got.CompletedAt, diff)
	}
	d.commit(report(undo(hotel), first), "gone", nil)
	d.wantLeft("b-flight")
	d.commit(report(undo(flight), d.begin(undo(flight), journal.DirectiveExecute)), "gone", nil)
	d.wantLeft()
	if p := d.undoable(journal.UndoQuery{RootRun: "run-1"}); p.Next != "" {
		d.Errorf("an empty page goes on at %q", p.Next)
	}
	if p := d.undoable(journal.UndoQuery{Namespace: "shop", RootRun: "run-1"}); len(p.Effects) != 1 || p.Effects[0].ProviderID != "b-shop" {
		d.Errorf("the other namespace has %+v", p.Effects)
	}
}

// undoPages: in order of completion, not of their beginning, and a page goes on
// behind the last one although effects before it were undone meanwhile.
func undoPages(d *desk) {
	d.booked("a")
	r := request("book", "run-1/late")
	late := d.begin(r, journal.DirectiveExecute)
	_, b := d.booked("b")
	d.booked("c")
	d.commit(report(r, late), "b-late", nil)
	d.wantLeft("b-late", "b-c", "b-b", "b-a")
	var got []string
	q := journal.UndoQuery{RootRun: "run-1", Limit: 2}
	for n := 0; ; n++ {
		p := d.undoable(q)
		if len(p.Effects) == 0 {
			break
		}
		for _, u := range p.Effects {
			got = append(got, u.ProviderID)
		}
		if n == 0 {
			d.commit(report(undo(late), d.begin(undo(late), journal.DirectiveExecute)), "gone", nil)
			d.commit(report(undo(b), d.begin(undo(b), journal.DirectiveExecute)), "gone", nil)
		}
		q.After = p.Next
	}
	if diff := cmp.Diff([]string{"b-late", "b-c", "b-a"}, got); diff != "" {
		d.Errorf("pages:\n%s", diff)
	}
}

func undoLarge(d *desk) {
	for i := range 3 {
		r := request("book", fmt.Sprint("run-1/", i))
		_, _ = d.booked("small" + fmt.Sprint(i))
		d.commit(report(r, d.begin(r, journal.DirectiveExecute)), fmt.Sprint("b-", i), bytes.Repeat([]byte{0xff}, 3<<20))
	}
	var pages [][]string
	for q := (journal.UndoQuery{RootRun: "run-1"}); ; {
		p := d.undoable(q)
		if len(p.Effects) == 0 {
			break
		}
		var ids []string
		for _, u := range p.Effects {
			ids = append(ids, u.ProviderID)
		}
		pages, q.After = append(pages, ids), p.Next
	}
	want := [][]string{{"b-2"}, {"b-small2", "b-1"}, {"b-small1", "b-0"}, {"b-small0"}}
	if diff := cmp.Diff(want, pages); diff != "" {
		d.Errorf("pages:\n%s", diff)
	}
}

func undoBegin(d *desk) {
	_, a := d.booked("flight")
	r := undo(a)
	first := d.begin(r, journal.DirectiveExecute)
	e := d.snap(first.EffectID).Effect
	if e.Compensates != a.EffectID || e.Key != "run-1/undo/"+a.EffectID || e.Turn != "undo/"+a.EffectID {
		d.Errorf("the compensation is %+v", e)
	}
	second := r
	second.Key, second.ClaimID = "run-1/undo/again", journal.NewToken()
	d.refused(second, journal.ErrNotCompensable)
	d.begin(again(r), journal.DirectiveInProgress)
	d.commit(report(r, first), "gone", nil)
	d.begin(again(r), journal.DirectiveReturn)
	bare := again(r)
	bare.Compensates = ""
	_, err := d.Begin(d.Context(), bare)
	var reused *journal.KeyReusedError
	if !errors.As(err, &reused) || len(reused.Fields) != 1 || reused.Fields[0] != (journal.FieldDiff{Field: "compensates", Was: a.EffectID}) {
		d.Errorf("the key without compensates: %v %+v", err, reused)
	}
}

func undoRefused(d *desk) {
	r, a := d.booked("flight")
	open := request("book", "run-1/open")
	o := d.begin(open, journal.DirectiveExecute)
	d.refused(undo(o), journal.ErrNotCompensable)
	for name, change := range map[string]func(r *journal.BeginRequest){
		"another run":       func(r *journal.BeginRequest) { r.RootRun = "run-2" },
		"another namespace": func(r *journal.BeginRequest) { r.Namespace = "shop" },
		"nobody's effect":   func(r *journal.BeginRequest) { r.Compensates = journal.NewID(time.Now()) },
	} {
		bad := undo(a)
		change(&bad)
		if _, err := d.Begin(d.Context(), bad); !errors.Is(err, journal.ErrNotCompensable) {
			d.Errorf("%s: %v", name, err)
		}
	}
	c := d.begin(undo(a), journal.DirectiveExecute)
	d.commit(report(undo(a), c), "gone", nil)
	d.refused(undo(c), journal.ErrNotCompensable) // an undo is not undone
	for field, change := range map[string]func(r *journal.BeginRequest){
		"must be an effect id": func(r *journal.BeginRequest) { r.Compensates = "x" },
		"exclude each other":   func(r *journal.BeginRequest) { r.Supersedes = a.EffectID },
	} {
		bad := undo(a)
		change(&bad)
		_, err := d.Begin(d.Context(), bad)
		d.invalid(err, "compensates", field)
	}
	again := r
	again.Compensates, again.ClaimID = o.EffectID, journal.NewToken()
	_, err := d.Begin(d.Context(), again)
	var reused *journal.KeyReusedError
	if !errors.As(err, &reused) {
		d.Errorf("compensates on a key that undoes nothing: %v", err)
	}
	for says, by := range map[string]string{"itself": "book", "may hold": "?"} {
		d.invalid(d.RegisterTool(d.Context(), journal.Tool{Name: "book", Class: journal.ClassAtMostOnce, ClientTimeout: time.Second, CompensatedBy: by}), "compensated_by", says)
	}
}

func undoParked(d *desk) {
	_, a := d.booked("flight")
	r := undo(a)
	c := d.begin(r, journal.DirectiveExecute)
	f := d.fail(report(r, c), journal.PhaseRefused, true)
	if f.Directive != journal.DirectiveParked || f.Reason != journal.ReasonUndoRefused {
		d.Errorf("a refused undo answered %+v", f)
	}
	d.wantLeft("b-flightPARKED")
	d.begin(again(r), journal.DirectiveParked)
	d.decide(c.EffectID, journal.VerbReissue, journal.NewKey)
	next := d.begin(again(r), journal.DirectiveExecute)
	if f := d.fail(report(r, next), journal.PhaseRefused, true); f.Directive != journal.DirectiveParked {
		d.Errorf("refused under an order: %+v", f)
	}
	d.decide(c.EffectID, journal.VerbCloseLanded, "") // it was taken back by hand
	d.wantLeft()
}

func undoAsked(d *desk) {
	d.booked("flight")
	r := request("book", "run-1/hotel")
	a := d.begin(r, journal.DirectiveExecute)
	d.fail(report(r, a), journal.PhaseSent, false)
	d.decide(a.EffectID, journal.VerbCloseNotLanded, "")
	got, err := d.Decision(d.Context(), a.EffectID, 0, 0)
	if err != nil || got == nil || !got.Compensate {
		d.Errorf("the resolution is %+v, %v: want compensate", got, err)
	}
	feed, err := d.Decisions(d.Context(), 0, 10)
	if err != nil || len(feed) != 1 || !feed[0].Compensate {
		d.Errorf("the feed is %+v, %v", feed, err)
	}
	if b := d.begin(again(r), journal.DirectiveAbandoned); b.Decision == nil || !b.Decision.Compensate {
		d.Errorf("begin answered %+v", b.Decision)
	}
	_, mail, _ := d.park("run-1/mail") // a tool without that policy
	d.decide(mail.EffectID, journal.VerbCloseNotLanded, "")
	if got, err := d.Decision(d.Context(), mail.EffectID, 0, 0); err != nil || got == nil || got.Compensate {
		d.Errorf("the other tool's resolution is %+v, %v", got, err)
	}
	landed := request("book", "run-1/car")
	l := d.begin(landed, journal.DirectiveExecute)
	d.fail(report(landed, l), journal.PhaseSent, false)
	d.decide(l.EffectID, journal.VerbCloseLanded, "")
	if got, err := d.Decision(d.Context(), l.EffectID, 0, 0); err != nil || got == nil || got.Compensate {
		d.Errorf("close_landed's resolution is %+v, %v", got, err)
	}
}

func undoRestored(d *desk) {
	_, a := d.booked("flight")
	_, b := d.booked("hotel")
	d.exec("update journal_meta set recovered_at = clock_timestamp()")
	r := undo(a) // of a run that began before
	p := d.begin(r, journal.DirectiveParked)
	if e := d.snap(p.EffectID).Effect; e.Compensates != a.EffectID || p.Reason != journal.ReasonRestored {
		d.Errorf("parked as %+v, reason %s", e, p.Reason)
	}
	d.wantLeft("b-hotel", "b-flightPARKED")
	second := undo(a)
	second.Key = "run-1/other"
	d.refused(second, journal.ErrNotCompensable)
	lost := undo(b)
	lost.Compensates = journal.NewID(time.Now()) // its effect went with the restore
	d.refused(lost, journal.ErrNotCompensable)
}

func undoQuery(d *desk) {
	for says, q := range map[string]journal.UndoQuery{
		"is missing":  {},
		"cursor":      {RootRun: "run-1", After: "yesterday"},
		"that a page": {RootRun: "run-1", After: "1.x"},
		"between 1":   {RootRun: "run-1", Limit: 201},
	} {
		_, err := d.Undoable(d.Context(), q)
		field := map[bool]string{true: "after", false: "root_run"}[q.After != ""]
		if q.Limit > 0 {
			field = "limit"
		}
		d.invalid(err, field, says)
	}
	if p := d.undoable(journal.UndoQuery{RootRun: "nobody's"}); len(p.Effects) != 0 || p.Next != "" {
		d.Errorf("a run that nobody knows: %+v", p)
	}
}
