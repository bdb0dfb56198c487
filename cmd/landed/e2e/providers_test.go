package e2e_test

import (
	"testing"
	"time"

	"github.com/landedhq/landed/providers/evidence/imap/imaptest"
)

// TestProvidersPage walks over /providers, once on each screen: what Landed knows
// of the mailbox, a look-up that tests the search, one of a mail that is there, and
// one that is filled in wrongly. Nothing of it changes an effect or a mail.
func TestProvidersPage(t *testing.T) {
	t.Parallel()
	readAxe(t)
	browser := startBrowser(t)
	d := startDesk(t, setup{})
	startWorker(t, d.job("run-control", "parcel-0", stopNowhere)).says(t, "done 1")
	before := d.mail.Snapshot(t, mailUser, imaptest.SentFolder)
	for _, s := range screens() {
		t.Run(s.Name, func(t *testing.T) { // one after the other: the figures are the same page's
			story{t, d, browser, s}.tellProviders()
		})
	}
	if after := d.mail.Snapshot(t, mailUser, imaptest.SentFolder); after != before {
		t.Errorf("looking changed the mailbox:\n%s\nwas\n%s", after, before)
	}
}

func (s story) tellProviders() {
	b := newTab(s.t, s.browser, s.d.URL, s.screen, "providers")
	s.signIn(b, s.d.URL+"/providers", operator())
	b.sees("h1", "Providers")
	b.sees("#p-mail h2", "mail")
	for _, want := range []string{"How often it may be asked", "2 turns at most", "in the last minute", "Pause", "its index lag", "1 s"} {
		b.sees("#p-mail", want)
	}
	b.shot("providers")

	// A reference that nobody has tests the search.
	s.tryUntil(b, "The search works.")
	b.sees("#try-mail", "this committed effect")
	b.sees("#try-mail", "Gesendet")
	b.shot("search-works")

	// The committed effect that proves it has a page, which shows its reference.
	ref := s.reference(b)
	b.open(s.d.URL + "/providers")
	b.write("#ref-mail", ref)
	b.do("picking the time", setValue("#since-mail", "1h"))
	b.click(tryButton)
	b.sees("#try-t-mail", "Found.")
	b.sees("#try-mail .match", "Gesendet")
	b.shot("found")

	b.open(s.d.URL + "/providers")
	b.write("#ref-mail", "not a reference")
	b.expect("status of 422")
	b.click(tryButton)
	b.sees("#ref-err-mail", "32 digits and letters")
	b.shot("wrong-reference")

	s.mayNotTry()
}

const tryButton = `#p-mail form[method="post"] button[type="submit"]`

// tryUntil tries until the search is proven: the committed effect counts only once
// the index had its time.
func (s story) tryUntil(b *tab, title string) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		b.open(s.d.URL + "/providers")
		b.click(tryButton)
		b.until(patience, "an answer", `document.querySelector("#try-t-mail") !== null`)
		ok, err := eval[bool](b, holds("#try-t-mail", title))
		if err == nil && ok {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%q: not within a minute (%v)", title, err)
		}
	}
}

// reference follows the link to the effect that the control looked for.
func (s story) reference(b *tab) string {
	s.t.Helper()
	b.click(`#try-mail a[href^="/e/"], #try-mail a[href^="` + s.d.URL + `/e/"]`)
	b.sees("h1", s.d.job("run-control", "parcel-0", stopNowhere).subject())
	ref, err := eval[string](b, `[...document.querySelectorAll("dt")].find((e) => e.textContent.includes("Reference at the provider")).nextElementSibling.textContent.trim()`)
	if err != nil || len(ref) != 32 {
		s.t.Fatalf("the effect's page shows the reference %q (%v)", ref, err)
	}
	return ref
}

// mayNotTry: a viewer sees the same and is told who may try.
func (s story) mayNotTry() {
	s.t.Helper()
	b := newTab(s.t, s.browser, s.d.URL, s.screen, "providers-viewer")
	s.signIn(b, s.d.URL+"/providers", viewer())
	b.sees("#p-mail", "you need the role operator or approver")
	if b.has("#p-mail form") {
		s.t.Error("a viewer is offered the form")
	}
	b.shot("providers-viewer")
}
