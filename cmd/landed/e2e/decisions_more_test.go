package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/landedhq/landed/providers/evidence/imap/imaptest"
)

// TestCorrection: an effect that did not land is done anew with other arguments,
// by two people; a worker that knows only the old key runs the corrected ones.
func TestCorrection(t *testing.T) {
	t.Parallel()
	readAxe(t)
	browser := startBrowser(t)
	var provider sandbox
	d := startDesk(t, setup{Provider: provider.start})
	startWorker(t, d.job("run-control", "parcel-0", stopNowhere)).says(t, "done 1")
	for _, s := range screens() {
		t.Run(s.Name, func(t *testing.T) { newWalk(t, d, browser, s, "correction").correction() })
	}
	d.auditHolds(t)
}

// TestBulk: a set is decided together, from the list and from a cause.
func TestBulk(t *testing.T) {
	t.Parallel()
	readAxe(t)
	browser := startBrowser(t)
	var provider sandbox
	d := startDesk(t, setup{Provider: provider.start})
	startWorker(t, d.job("run-control", "parcel-0", stopNowhere)).says(t, "done 1")
	for _, s := range screens() {
		t.Run(s.Name, func(t *testing.T) { newWalk(t, d, browser, s, "bulk").bulk() })
	}
	d.auditHolds(t)
}

func newWalk(t *testing.T, d *desk, browser context.Context, s screen, album string) *decisions {
	return &decisions{t: t, d: d, browser: browser, screen: s, album: album, jobs: map[string]job{}, links: map[string]string{}}
}

func (d *desk) auditHolds(t *testing.T) {
	t.Helper()
	if out := d.run(t, "audit", "verify", "--config", d.config); !strings.Contains(out, "hold") {
		t.Errorf("audit verify says %q", out)
	}
}

// leave has a worker killed at an effect.
func (w *decisions) leave(name, tool, stop string) job {
	w.t.Helper()
	j := w.d.job("run-"+w.screen.Name+"-"+tool, name+"-"+w.screen.Name, stop)
	j.Tool = tool
	p := startWorker(w.t, j)
	p.says(w.t, stop)
	p.kill(w.t)
	w.jobs[name] = j
	return j
}

const reviewCorrection = `form:has(#f-args) button[type="submit"]`

// correction: bad JSON is said and kept, the difference is shown before anything
// is recorded, another person approves, and the worker follows to the successor.
func (w *decisions) correction() {
	const why, word = "The customer gave us another address.", "The customer told me so as well."
	j := w.leave("correct", "send_mail", stopSending)
	w.olivia, w.amara = w.tab(olivia), w.tab(amara)
	w.links["correct"] = w.find(w.olivia, w.d.URL+"/?q="+j.Item, j.subject())
	right := letter{To: "right-" + w.screen.Name + "@example.net", Subject: "Parcel " + j.Item + " comes on Friday"}
	good := fmt.Sprintf(`{"to": %q, "subject": %q}`, right.To, right.Subject)

	b := w.olivia
	w.ready(b, "correct", notLanded)
	b.click(".correct a")
	b.sees("h1", "Do it anew with other arguments?")
	w.correctionForm(b, j, good, why)
	b.sees("main .facts", "Do it anew with other arguments")
	w.seesDifference(b, right)
	b.sees(confirmed, "Propose it")
	b.shot("correct-confirm")
	b.click(confirmed)
	b.sees(".notice", "Your proposal is recorded")
	b.sees("#proposal", "Do it anew with other arguments")
	w.seesDifference(b, right)
	b.never(approveButton, "the proposer approves")
	b.shot("correct-proposed")

	w.amara.open(w.d.URL + "/reviews")
	w.amara.sees("#proposals-h ~ table", "Do it anew with other arguments")
	w.amara.click(fmt.Sprintf(`a[href^=%q]`, strings.TrimPrefix(w.links["correct"], w.d.URL)))
	w.amara.sees("#proposal", why)
	w.seesDifference(w.amara, right)
	w.amara.write("#f-word", word)
	w.amara.shot("correct-approver")
	w.amara.click(approveButton)
	w.amara.sees(".notice", "You approved it")
	w.amara.sees(".e-state", "Abandoned")
	w.amara.sees("#outcome", word)
	w.amara.shot("correct-approved")
	w.successor(w.amara, j, right)
}

// correctionForm fills the form, first wrongly, and goes to the review.
func (w *decisions) correctionForm(b *tab, j job, good, why string) {
	w.t.Helper()
	const bad = `{"to": "right@example.net",`
	b.until(patience, "the arguments as they are", fmt.Sprintf(`JSON.parse(document.querySelector("#f-args").value).subject === %q`, j.subject()))
	b.keeps("#f-subject", j.subject())
	b.shot("correct-form")
	b.rewrite("#f-args", bad)
	b.do("picking a reason", setValue("#f-code", "confirmed_by_person"))
	b.write("#f-reason", why)
	b.expect("status of 422")
	b.click(reviewCorrection)
	b.sees(".notice", "Nothing is recorded yet")
	b.sees("#e-args", "The arguments are not valid JSON")
	b.never("#e-amount", "the amount is right")
	b.keeps("#f-args", bad)
	b.keeps("#f-reason", why)
	b.shot("correct-bad-json")

	b.rewrite("#f-args", good)
	b.click(reviewCorrection)
	b.sees("h1", "Record this decision?")
	b.click(`form:has(input[name="edit"]) button[type="submit"]`)
	b.keeps("#f-args", good)
	b.keeps("#f-reason", why)
	b.keeps("#f-code", "confirmed_by_person")
	b.click(reviewCorrection)
}

func (w *decisions) seesDifference(b *tab, right letter) {
	w.t.Helper()
	for _, text := range []string{"customer@example.net", right.To, right.Subject} {
		b.sees("main table.grid", text)
	}
}

// successor: the old effect and the new one lead to each other, and whoever begins
// the old key runs what was corrected, once.
func (w *decisions) successor(b *tab, j job, right letter) {
	w.t.Helper()
	const replaced = `[...document.querySelectorAll("#about .facts div")].find((e) => e.innerText.includes(%q))?.querySelector("a")?.href ?? ""`
	next, err := eval[string](b, fmt.Sprintf(replaced, "Replaced by"))
	if err != nil || next == "" {
		w.t.Fatalf("the corrected effect leads nowhere (%q, %v)", next, err)
	}
	b.open(next)
	b.sees("#args-h ~ *", right.To)
	if back, err := eval[string](b, fmt.Sprintf(replaced, "Takes the place of")); err != nil || back != w.links["correct"] {
		w.t.Errorf("the successor takes the place of %q (%v), want %q", back, err, w.links["correct"])
	}
	b.shot("correct-successor")
	before := w.d.mails(w.t)
	j.Stop = stopNowhere
	b.follows(".e-state", "Committed", func() { startWorker(w.t, j).says(w.t, "done 1") })
	b.shot("correct-done")
	startWorker(w.t, j).says(w.t, "done 1") // whoever comes later sends nothing
	if got := w.d.mails(w.t) - before; got != 1 {
		w.t.Errorf("%d mails were sent, want 1", got)
	}
	if n := w.d.sent(w.t, right); n != 1 {
		w.t.Errorf("%d mails are what was corrected, want 1: %+v", n, right)
	}
	if n := w.d.sent(w.t, letter{To: "customer@example.net", Subject: j.subject()}); n != 0 {
		w.t.Errorf("%d mails are what was closed as not landed", n)
	}
}

// sent counts the mails that say so.
func (d *desk) sent(t *testing.T, l letter) int {
	t.Helper()
	c, err := imapclient.DialInsecure(d.mail.Addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.Login(mailUser, imaptest.Password).Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Select(imaptest.SentFolder, &goimap.SelectOptions{ReadOnly: true}).Wait(); err != nil {
		t.Fatal(err)
	}
	found, err := c.UIDSearch(&goimap.SearchCriteria{Header: []goimap.SearchCriteriaHeaderField{
		{Key: "To", Value: l.To}, {Key: "Subject", Value: l.Subject},
	}}, nil).Wait()
	if err != nil {
		t.Fatalf("searching: %v", err)
	}
	return len(found.AllUIDs())
}

const (
	again       = `.choice:has(input[value="reissue/new_key"])`
	reviewOrder = `form:has(#f-count) button[type="submit"]`
)

// bulk: three of a kind, one of which landed. The list's set says which a re-issue
// reaches and wants their number; the cause's set is closed.
func (w *decisions) bulk() {
	tool := "bulk_" + w.screen.Name
	landed := w.leave("found", tool, stopDelivered)
	lost := []job{w.leave("lost-a", tool, stopSending), w.leave("lost-b", tool, stopSending)}
	w.olivia, w.dario = w.tab(olivia), w.tab(dario)
	causes := w.d.URL + "/?group=cause&tool=" + tool
	w.olivia.loadsUntil(causes, "two causes", fmt.Sprintf(`%s && %s`, causeOf("Found", "1 effect"), causeOf("Not found", "2 effects")))
	set := w.dryRun(w.d.URL+"/?tool="+tool, landed, lost)
	w.wrongCount(set)
	w.others(set)
	w.closeCause(causes, lost)

	b := w.olivia // the set of before is not what it was
	b.open(set)
	b.sees("main", "It reaches 0 of 3 effects.")
	b.click(again + ` details:has(.bulk-not) summary`)
	b.sees(again+" .bulk-not", "It changed since the set was frozen.")
	b.shot("bulk-changed")
}

func causeOf(verdict, count string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("tr[data-cause]")].some((e) => e.innerText.includes(%q) && e.innerText.includes(%q))`, verdict, count)
}

// dryRun freezes what the list shows and returns where the set is.
func (w *decisions) dryRun(list string, landed job, lost []job) string {
	w.t.Helper()
	b := w.olivia
	b.open(list)
	b.sees(".bulk-start button", "Decide several")
	b.shot("bulk-list")
	b.click(".list-acts .bulk-start button")
	b.sees("h1", "Decide 3 effects together")
	b.sees(".dry-run", "Found")
	b.sees(".dry-run", "Not found")
	b.sees(again, "It reaches 2 of 3 effects.")
	b.click(again + ` details:has(.bulk-not) summary`)
	b.sees(again+" .bulk-not", "1 effect:")
	b.sees(again+" .bulk-not", landed.subject())
	b.click(again + ` details:not(:has(.bulk-not)) summary`)
	for _, j := range lost {
		b.sees(again+" details:not(:has(.bulk-not))", j.subject())
	}
	b.shot("bulk-dry-run")
	return b.location()
}

// wrongCount: a re-issue of many is typed out, and the text outlives a wrong one.
func (w *decisions) wrongCount(set string) {
	w.t.Helper()
	const why = "The folder was searched for each of them."
	b := w.olivia
	b.click(again + ` input`)
	b.do("picking a reason", setValue("#f-code", "evidence_not_found"))
	b.write("#f-reason", why)
	for _, wrong := range []string{"", "3"} {
		if wrong != "" {
			b.write("#f-count", wrong)
		}
		b.expect("status of 422")
		b.submit(reviewOrder) // the second answer looks like the first
		b.sees("#e-count", "This re-issue reaches 2 effects")
		b.sees(".notice", "Nothing is recorded yet")
		b.keeps("#f-count", wrong)
		b.keeps("#f-reason", why)
		b.keeps("#f-code", "evidence_not_found")
		if !b.has(again + ` input:checked`) {
			w.t.Error("the choice is lost")
		}
	}
	b.shot("bulk-wrong-count")
	b.rewrite("#f-count", "2")
	b.click(reviewOrder)
	b.sees("h2", "Order this?")
	b.sees("main", "Workers may repeat 2 effects.")
	b.sees("main", "1 effect of the set is not reached")
	b.sees(confirmed, "Order 2 decisions")
	b.shot("bulk-reissue-confirm")
	b.click(`form:has(input[name="edit"]) button[type="submit"]`)
	b.keeps("#f-reason", why)
	b.open(set)
	b.never("#items-h", "nothing was ordered")
}

// others: who did not freeze the set sees it and can't order.
func (w *decisions) others(set string) {
	w.t.Helper()
	w.dario.open(set)
	w.dario.sees("main", "Somebody else froze this set")
	w.dario.never("main form", "it is not his set")
	w.dario.shot("bulk-other")
}

// closeCause closes a whole cause as not landed; every effect says so.
func (w *decisions) closeCause(causes string, lost []job) {
	w.t.Helper()
	const why = "The outage is over and none of them left."
	b := w.olivia
	b.open(causes)
	b.sees("h1", "2 causes behind 3 effects")
	b.shot("bulk-causes")
	b.until(patience, "the cause that was not found", `(() => { const r = [...document.querySelectorAll("tr[data-cause]")].find((e) => e.innerText.includes("Not found"));
		r.querySelector("button").id = "these"; return true; })()`)
	b.click("#these")
	b.sees("h1", "Decide 2 effects together")
	b.click(`input[name="choice"][value="close_not_landed"]`)
	b.do("picking a reason", setValue("#f-code", "evidence_not_found"))
	b.expect("status of 422")
	b.click(reviewOrder)
	b.sees("#e-reason", "characters")
	b.write("#f-reason", why)
	b.click(reviewOrder)
	b.sees("h2", "Order this?")
	b.sees("main", why)
	b.sees("main .facts", "It did not land: close it")
	b.sees(confirmed, "Order 2 decisions")
	b.shot("bulk-close-confirm")
	b.click(confirmed)
	b.sees("h1", "2 effects, decided together")
	b.until(patience, "the order is done", holds("#state-h", "Done"))
	b.until(patience, "every effect is decided", `(() => { const r = [...document.querySelectorAll("tr[data-item]")];
		return r.length === 2 && r.every((e) => e.innerText.includes("Decided") && e.innerText.includes("Abandoned")); })()`)
	b.sees("main", why)
	for _, j := range lost {
		b.sees(".bulk-items", j.subject())
	}
	b.shot("bulk-result")
	b.click("tr[data-item] th a")
	b.sees(".e-state", "Abandoned")
	b.sees("#outcome", why)
	b.shot("bulk-decided")
}
