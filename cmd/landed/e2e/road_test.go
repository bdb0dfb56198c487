package e2e_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// TestRoad walks the whole road, once on each screen: two workers are
// killed, one after its mail was delivered, one before. A person learns of it,
// signs in, sees the evidence and decides: the first is closed as landed, the
// second is ordered again. No mail is sent twice, none is lost.
func TestRoad(t *testing.T) {
	t.Parallel()
	readAxe(t) // say at once what is missing, not after a minute
	browser := startBrowser(t)
	d := startDesk(t, setup{Provider: startDex})
	d.checkAll(t)
	// Landed believes an empty answer only if it finds what it knows to be there.
	startWorker(t, d.job("run-control", "parcel-0", stopNowhere)).says(t, "done 1")

	for _, s := range screens() {
		t.Run(s.Name, func(t *testing.T) { // one after the other: both look at the same list
			story{t, d, browser, s}.tell()
		})
	}
	if got, want := d.mails(t), 1+2*len(screens()); got != want {
		t.Errorf("%d mails were sent, want %d: each effect exactly once", got, want)
	}
	if out := d.run(t, "audit", "verify", "--config", d.config); !strings.Contains(out, "hold") {
		t.Errorf("audit verify says %q", out)
	}
}

// checkAll runs `landed check` against the real servers.
func (d *desk) checkAll(t *testing.T) {
	t.Helper()
	out := d.run(t, "check", "--config", d.config)
	for _, want := range []string{"configuration", "database", "login " + d.idp.Issuer, "provider mail"} {
		if !strings.Contains(out, "ok    "+want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	d.run(t, "check", "--live", "--config", d.config) // the container's health check
}

// story is one walk.
type story struct {
	t       *testing.T
	d       *desk
	browser context.Context
	screen  screen
}

const (
	whyLanded  = "The Sent folder holds this very mail."
	whyReissue = "The Sent folder was searched and does not hold it."
)

func (s story) tell() {
	run := "run-" + s.screen.Name
	landed := s.d.job(run, "parcel-1", stopDelivered)
	lost := s.d.job(run, "parcel-2", stopSending)

	w := startWorker(s.t, landed)
	w.says(s.t, stopDelivered)
	w.kill(s.t)
	first := s.d.sink.next(s.t)
	if first.Tool != "send_mail" || first.Count != 1 || !strings.HasPrefix(first.OldestURL, s.d.URL+"/e/") {
		s.t.Fatalf("the alert says %+v", first)
	}
	w = startWorker(s.t, lost)
	w.says(s.t, stopSending)
	w.kill(s.t)

	reader := s.readsOnly(first.OldestURL)
	op := newTab(s.t, s.browser, s.d.URL, s.screen, "operator")
	s.signIn(op, first.OldestURL, operator())
	if at := op.location(); at != first.OldestURL {
		s.t.Errorf("after the sign-in the browser is at %s, want the alert's link %s", at, first.OldestURL)
	}
	s.closeLanded(op, landed)

	second := s.d.sink.next(s.t)
	s.reissue(op, lost, second)
	s.audit(first.OldestURL)
	s.watch(reader, first.OldestURL, second.OldestURL)
}

// signIn follows a link without a session: through Dex's own login page.
func (s story) signIn(b *tab, link string, who person) {
	s.t.Helper()
	b.open(link)
	s.d.passDex(b, who)
}

// passDex fills Dex's own login page, which the tab is at or gets to.
func (d *desk) passDex(b *tab, who person) {
	b.t.Helper()
	b.sees("h2", "Log in to Your Account")
	if at := b.location(); !strings.HasPrefix(at, d.idp.Issuer) {
		b.t.Fatalf("the login page is at %s, not at Dex", at)
	}
	b.picture("dex")
	b.write("#login", who.Email)
	b.write("#password", d.idp.password)
	b.click("#submit-login")
	b.until(patience, "back at Landed", `location.href.startsWith("`+d.URL+`/") && document.readyState === "complete"`)
}

// closeLanded closes the effect whose mail is there, through the review step.
func (s story) closeLanded(b *tab, j job) {
	s.t.Helper()
	b.sees("h1", j.subject())
	// A page with an open form does not change under the reader.
	b.opensUntil(b.location(), "#answer-h", "Yes, it landed.")
	b.sees(".verdict", "Found")
	b.shot("found")
	if !b.has(`input[name="choice"][value="reissue/new_key"]:disabled`) {
		s.t.Error("a re-issue is open although the mail was found")
	}
	// The form says what is missing before anything else.
	b.expect("status of 422")
	b.click(`#decide button[type="submit"]`)
	b.sees(".field-error", "Choose what is true")
	b.shot("form-errors")
	s.decide(b, "close_landed", "evidence_found", whyLanded)
	b.sees("h1", "It landed: close it")
	b.shot("review-landed")
	b.click(confirmed)
	b.sees("#answer-h", "Yes, it landed.")
	b.sees("#outcome", whyLanded)
	b.shot("closed")

	// The workflow runs again: it gets the outcome and sends nothing.
	j.Stop = stopNowhere
	b.follows("#outcome .step-done", "Settled", func() { startWorker(s.t, j).says(s.t, "done 1") })
}

// reissue orders the effect again whose mail is not there, once that is certain.
func (s story) reissue(b *tab, j job, alert alertData) {
	s.t.Helper()
	j.Stop = stopNowhere
	waiting := startWorker(s.t, j) // it is told to wait for a decision
	b.open(s.d.URL + "/")
	b.sees("table.list", j.subject())
	b.shot("list")
	b.click("a.row-link")
	b.sees("h1", j.subject())
	if at := b.location(); at != alert.OldestURL {
		s.t.Errorf("the list leads to %s, the alert to %s", at, alert.OldestURL)
	}
	b.opensUntil(alert.OldestURL, "#answer-h", "No, it did not land.")
	b.sees("main .facts", "Landed waited") // and says which lag, and why that one
	b.shot("not-found")
	s.decide(b, "reissue/new_key", "evidence_not_found", whyReissue)
	b.sees("h1", "Re-issue it as a new request")
	b.sees("main", "customer@example.net")
	b.shot("review-reissue")
	b.click(confirmed)
	b.sees("#outcome", "Recorded")
	b.follows("#outcome .step-done", "Settled", func() { waiting.says(s.t, "done 2") })
	b.sees("#outcome", "as attempt 2")
	b.shot("settled")
	// One more look is due, since attempt 1 may have landed after all.
	b.opensUntil(s.d.URL+"/", "h1", "Nothing needs attention")
	b.shot("list-empty")
}

// decide fills in the form and asks for the review.
func (s story) decide(b *tab, choice, code, why string) {
	s.t.Helper()
	b.click(`input[name="choice"][value="` + choice + `"]`)
	b.do("picking a reason", setValue("#f-code", code))
	b.write("#f-reason", why)
	b.click(`#decide button[type="submit"]`)
}

// audit: the auditor finds both decisions, with who and why, and can't decide.
func (s story) audit(effect string) {
	s.t.Helper()
	b := newTab(s.t, s.browser, s.d.URL, s.screen, "auditor")
	s.signIn(b, s.d.URL+"/audit", auditor())
	b.sees("h1", "Audit trail")
	for _, why := range []string{whyLanded, whyReissue} {
		b.sees("table.audit", why)
	}
	b.sees("table.audit", operator().Name)
	b.shot("audit")
	s.onlyReads(b, effect)
}

// readsOnly: while the effect waits for a decision, the viewer sees all of it and
// is told who decides.
func (s story) readsOnly(link string) *tab {
	s.t.Helper()
	b := newTab(s.t, s.browser, s.d.URL, s.screen, "viewer")
	s.signIn(b, link, viewer())
	s.onlyReads(b, link)
	b.sees("#decide", "operators and approvers decide")
	b.shot("open-for-others")
	return b
}

// watch: the viewer sees how both ended, and is refused the trail; who has no
// role gets no further than the sign-in.
func (s story) watch(b *tab, links ...string) {
	s.t.Helper()
	for _, link := range links {
		s.onlyReads(b, link)
	}
	b.shot("viewer")
	b.expect("status of 403")
	b.open(s.d.URL + "/audit")
	b.until(patience, "a refusal", `document.querySelector("table.audit") === null && document.querySelector("h1") !== null`)
	b.shot("no-audit")

	out := newTab(s.t, s.browser, s.d.URL, s.screen, "outsider")
	out.expect("status of 403")
	s.signIn(out, links[0], outsider())
	out.sees("h1", "You have no role here")
	out.shot("no-role")
}

// onlyReads opens an effect that landed and finds no form that could change it.
func (s story) onlyReads(b *tab, link string) {
	s.t.Helper()
	b.opensUntil(link, "#answer-h", "Yes, it landed.") // the first look may still be under way
	if b.has("main form") {
		s.t.Errorf("%s is offered a form at %s", filepath.Base(b.dir), link)
	}
}
