package e2e_test

import (
	"fmt"
	"testing"
	"time"
)

// freshPolicy asks for a login of at most that age for whatever is decided.
func freshPolicy(age time.Duration) string {
	return fmt.Sprintf("  version: e2e/1\n  step_up: %s\n  rules:\n    - {name: Prove who you are, step_up: true}\n", age)
}

// TestFreshLogin: once the login is too old, the decision waits for another, at
// two kinds of providers: Dex, whose ID token says when the password was typed,
// and one that does not say and is trusted to ask (login.trust_prompt).
func TestFreshLogin(t *testing.T) {
	t.Parallel()
	readAxe(t)
	browser := startBrowser(t)
	const age = 12 * time.Second
	t.Run("Dex", func(t *testing.T) { // one after the other: each is a whole desk
		d := startDesk(t, setup{Provider: startDex, More: freshPolicy(age)})
		b := newTab(t, browser, d.URL, desktop(), "fresh-dex")
		b.open(d.URL)
		d.passDex(b, operator())
		old := time.Now().Add(age + time.Second)
		d.decideAfresh(t, b, old, func() { d.passDex(b, operator()) })
	})
	t.Run("trusted", func(t *testing.T) {
		var provider sandbox
		provider.Mute.Store(true)
		d := startDesk(t, setup{Provider: provider.start, TrustPrompt: true, More: freshPolicy(time.Hour)})
		b := newTab(t, browser, d.URL, desktop(), "fresh-trusted")
		b.open(d.URL)
		b.pick(d.URL, olivia)
		// An ordinary sign-in proves nothing here: it may be as old as can be.
		d.decideAfresh(t, b, time.Now(), func() { b.pick(d.URL, olivia) })
	})
}

// decideAfresh has an effect decided by somebody whose login is too old from then
// on: they sign in again, with their text kept, and nothing but their own click
// records it.
func (d *desk) decideAfresh(t *testing.T, b *tab, old time.Time, signIn func()) {
	t.Helper()
	j := d.job("run-fresh", "fresh", stopDelivered)
	w := startWorker(t, j)
	w.says(t, j.Stop)
	w.kill(t)
	link := d.sink.next(t).OldestURL
	b.opensUntil(link, "#answer-h", didLand)
	b.until(patience, "the login grows old", fmt.Sprintf(`Date.now() > %d`, old.UnixMilli()))
	b.expect("status of 403")
	b.review("close_landed", "evidence_found", whyLanded)
	b.sees(".notice", "This needs a fresh login")
	b.keeps("#f-reason", whyLanded)
	b.click(`.notice a[href^="/login"]`)
	signIn()
	b.sees(".notice", "You are signed in again")
	b.keeps("#f-reason", whyLanded)
	b.never("#outcome", "the way back recorded a decision")
	b.click(`#decide form button[type="submit"]`)
	b.click(confirmed)
	b.sees("#outcome", whyLanded)
	b.shot("recorded")
	b.open(link)
	b.never("#f-reason", "there is nothing to decide")
}
