package e2e_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// The policy of the decisions: what a tool asks is in its name.
const decisionPolicy = `  version: e2e/1
  step_up: 5m
  overrides: [found]
  break_glass: [landed-on-call]
  rules:
    - name: Repeats take two
      tools: [four_mail, glass_mail]
      verbs: [reissue]
      four_eyes: true
    - name: Prove who you are
      tools: [step_mail]
      step_up: true
tools:
  - {name: settled_mail, class: at_most_once, provider: mail, client_timeout: 1s, display_fields: [to, subject], settle_found: true}
`

// TestDecisions walks what a policy can ask of a decision, as people meet it: a
// second person, a fresh login, what stands in the way passed over, the broken
// glass, and the settlement by policy that is taken back.
func TestDecisions(t *testing.T) {
	t.Parallel()
	readAxe(t)
	browser := startBrowser(t)
	var provider sandbox
	d := startDesk(t, setup{Provider: provider.start, More: decisionPolicy})
	startWorker(t, d.job("run-control", "parcel-0", stopNowhere)).says(t, "done 1")
	for _, s := range screens() {
		t.Run(s.Name, func(t *testing.T) { // one after the other: all look at the same lists
			w := &decisions{t: t, d: d, browser: browser, screen: s, provider: &provider, jobs: map[string]job{}, links: map[string]string{}}
			w.park()
			w.fourEyes()
			w.rejected()
			w.freshLogin()
			w.together()
			w.override()
			w.alone()
			w.takenBack()
			w.twins()
		})
	}
	if out := d.run(t, "audit", "verify", "--config", d.config); !strings.Contains(out, "hold") {
		t.Errorf("audit verify says %q", out)
	}
}

// decisions is the walk on one screen.
type decisions struct {
	t        *testing.T
	d        *desk
	browser  context.Context
	screen   screen
	provider *sandbox
	album    string // of the pictures; empty = decisions

	olivia, dario, amara *tab
	jobs                 map[string]job
	links                map[string]string
}

// park has workers killed, one for each effect that people are to decide, and
// signs the people in.
func (w *decisions) park() {
	w.t.Helper()
	run := "run-" + w.screen.Name
	for _, e := range []struct{ name, tool, stop string }{
		{"four", "four_mail", stopSending}, {"rejected", "four_mail", stopSending}, {"step", "step_mail", stopSending},
		{"together", "plain_mail", stopSending}, {"override", "over_mail", stopDelivered}, {"glass", "glass_mail", stopSending},
		{"settled", "settled_mail", stopDelivered}, {"twin", "twin_mail", stopSending}, {"other", "twin_mail", stopSending},
	} {
		j := w.d.job(run+"-"+e.tool, e.name+"-"+w.screen.Name, e.stop)
		j.Tool = e.tool
		p := startWorker(w.t, j)
		p.says(w.t, e.stop)
		p.kill(w.t)
		w.jobs[e.name] = j
	}
	w.olivia, w.dario, w.amara = w.tab(olivia), w.tab(dario), w.tab(amara)
	for name, j := range w.jobs {
		if name != "settled" {
			w.links[name] = w.find(w.olivia, w.d.URL+"/?q="+j.Item, j.subject())
		}
	}
}

// tab is a signed-in person's browser.
func (w *decisions) tab(who string) *tab {
	w.t.Helper()
	b := newTab(w.t, w.browser, w.d.URL, w.screen, cmp.Or(w.album, "decisions")+"-"+strings.TrimPrefix(who, "p-"))
	b.open(w.d.URL + "/")
	b.pick(w.d.URL, who)
	return b
}

// find waits until a list names the effect, and returns where it leads.
func (w *decisions) find(b *tab, list, subject string) string {
	w.t.Helper()
	b.opensUntil(list, "main a", subject)
	at, err := eval[string](b, fmt.Sprintf(`[...document.querySelectorAll("main a")].find((a) => a.innerText.includes(%q)).href.replace(/#.*/, "")`, subject))
	if err != nil {
		w.t.Fatalf("where %s leads: %v", subject, err)
	}
	return at
}

// ready opens an effect once its evidence says what the test is about.
func (w *decisions) ready(b *tab, name, answer string) {
	w.t.Helper()
	b.opensUntil(w.links[name], "#answer-h", answer)
}

const notLanded, didLand = "No, it did not land.", "Yes, it landed."

// review fills the form and asks for the page that shows what would be recorded.
func (b *tab) review(choice, code, why string) {
	b.t.Helper()
	b.click(`input[name="choice"][value="` + choice + `"]`)
	b.do("picking a reason", setValue("#f-code", code))
	b.rewrite("#f-reason", why)
	b.click(`#decide form button[type="submit"]`)
}

// rewrite puts a text in the place of what is there.
func (b *tab) rewrite(css, text string) {
	b.t.Helper()
	b.until(patience, "emptying "+css, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = ""; return true; })()`, css))
	b.write(css, text)
}

const confirmed = `.confirm form[data-once] button[type="submit"]`

// keeps waits until a field holds the text.
func (b *tab) keeps(css, text string) {
	b.t.Helper()
	b.until(patience, fmt.Sprintf("%q kept in %s", text, css), fmt.Sprintf(`document.querySelector(%q)?.value === %q`, css, text))
}

// never fails if the page shows it.
func (b *tab) never(css, why string) {
	b.t.Helper()
	if b.has(css) {
		b.t.Errorf("%s, at %s: %s is there: %s", b.screen.Name, b.location(), css, why)
	}
}

const (
	approveButton = `#proposal button[value="approve"]`
	rejectButton  = `#proposal button[value="reject"]`
)

// propose goes through the form and its review, and leaves a proposal.
func (w *decisions) propose(b *tab, name, why string) {
	w.t.Helper()
	w.ready(b, name, notLanded)
	b.sees("#decide", "Takes a second person (policy rule “Repeats take two”)")
	b.review("reissue/new_key", "evidence_not_found", why)
	b.sees("main", "A second person has to approve it")
	b.sees(confirmed, "Propose it")
	b.shot(name + "-confirm")
	b.click(confirmed)
	b.sees(".notice", "Your proposal is recorded")
	b.sees("#proposal", why)
}

// fourEyes: Olivia proposes, Amara approves from the list, the worker repeats.
func (w *decisions) fourEyes() {
	const why, word = "The Sent folder was searched: it is not there.", "I searched it as well, and found none."
	j, link := w.jobs["four"], w.links["four"]
	reader := w.tab(mei)
	w.ready(reader, "four", notLanded)
	w.propose(w.olivia, "four", why)
	if !w.screen.NoScript { // who only reads is told that there is more to see
		reader.sees("[data-live-note]", "This effect changed")
		reader.click("[data-live-note] button")
	} else {
		reader.open(link)
	}
	reader.sees("#proposal", "an approver has to say yes")
	reader.never("main form", "a viewer acts")
	w.olivia.sees("#proposal", "another person, an approver, has to say yes")
	w.olivia.never(approveButton, "the proposer approves")
	w.olivia.never("#outcome", "a proposal has no outcome")
	w.olivia.shot("four-proposed")
	w.olivia.open(w.d.URL + "/reviews")
	w.olivia.sees("#proposals-h ~ table", j.subject())
	w.olivia.sees("#proposals-h ~ table .chip", "you")
	w.olivia.shot("four-reviews")
	w.dario.open(link) // an operator is no approver
	w.dario.sees("#proposal", "an approver has to say yes")
	w.dario.never("#proposal form", "an operator approves")
	w.dario.shot("four-operator")

	w.amara.open(w.d.URL + "/reviews")
	w.amara.click(fmt.Sprintf(`a[href^=%q]`, strings.TrimPrefix(link, w.d.URL)))
	w.amara.sees("#proposal", why)
	w.amara.write("#f-word", word)
	w.amara.shot("four-approver")
	w.amara.click(approveButton)
	w.amara.sees(".notice", "You approved it")
	w.amara.sees("#outcome", "Approved by Amara Okafor: "+word)
	w.amara.shot("four-approved")
	w.amara.open(w.d.URL + "/outcomes")
	w.amara.sees("table.grid", j.subject())
	w.amara.sees("table.grid", "Waits for a worker")
	w.amara.shot("four-outcomes")

	j.Stop = stopNowhere
	w.amara.open(link)
	w.amara.follows("#outcome .step-done", "Settled", func() { startWorker(w.t, j).says(w.t, "done 2") })
	w.gone(w.amara, "/outcomes", j)
}

// gone waits until a list no longer names the effect.
func (w *decisions) gone(b *tab, list string, j job) {
	w.t.Helper()
	b.loadsUntil(w.d.URL+list, j.subject()+" is off the list", `document.querySelector("h1") !== null && !`+holds("main", j.subject()))
}

// rejected: what is too short is said, and the text stays; who rejects, and who
// withdraws, is read by the next.
func (w *decisions) rejected() {
	const reason, sorry = "Ask the carrier first, please.", "The carrier has it after all."
	w.propose(w.olivia, "rejected", "Nothing is in the Sent folder.")
	w.amara.open(w.links["rejected"])
	w.tooShort(w.amara, "no")
	w.amara.shot("rejected-short")
	w.amara.rewrite("#f-word", reason)
	w.amara.click(rejectButton)
	w.amara.sees(".notice", "The proposal is ended")
	w.amara.never("#proposal", "it was rejected")
	w.olivia.open(w.links["rejected"])
	w.olivia.sees("#history", reason)
	w.olivia.shot("rejected")

	w.propose(w.olivia, "rejected", "Proposed once more, the carrier knows nothing.")
	w.tooShort(w.olivia, "oops")
	// The other is at the same page: her word comes too late.
	w.amara.open(w.links["rejected"])
	w.amara.write("#f-word", "Yes, the carrier told me so.")
	w.olivia.rewrite("#f-word", sorry)
	w.olivia.click(rejectButton)
	w.olivia.sees(".notice", "The proposal is ended")
	w.olivia.sees("#history", sorry)
	w.amara.expect("status of 409")
	w.amara.click(approveButton)
	w.amara.sees(".notice", "the proposal is over")
	w.amara.sees(".notice", "Olivia Marsh")
	w.amara.keeps("textarea.kept", "Yes, the carrier told me so.")
	w.amara.shot("rejected-late")
}

func (w *decisions) tooShort(b *tab, text string) {
	w.t.Helper()
	b.write("#f-word", text)
	b.expect("status of 422")
	b.click(rejectButton)
	b.sees("#e-word", "characters")
	b.sees(".notice", "Nothing is recorded yet")
	b.keeps("#f-word", text)
}

// freshLogin: the decision asks for one, the text outlives the way there and
// back, and only the person records it.
func (w *decisions) freshLogin() {
	const why = "I asked the postmaster: the mail never left."
	w.provider.Old.Store(true)
	b := w.tab(olivia)
	w.provider.Old.Store(false)
	w.ready(b, "step", notLanded)
	b.sees("#decide", "Takes a fresh login (policy rule “Prove who you are”)")
	b.expect("status of 403")
	b.review("close_not_landed", "confirmed_by_person", why)
	b.sees(".notice", "This needs a fresh login")
	b.keeps("#f-reason", why)
	b.shot("step-asked")

	// A provider that does not say when: nothing is taken for granted.
	w.provider.Mute.Store(true)
	b.click(`.notice a[href^="/login"]`)
	b.expect("status of 403")
	b.pick(w.d.URL, olivia)
	w.provider.Mute.Store(false)
	b.sees("h1", "The identity provider did not ask you again")
	b.shot("step-not-fresh")
	b.click(`.notice-links a`)
	b.sees("h1", w.jobs["step"].subject())
	b.keeps("#f-reason", why)

	b.expect("status of 403")
	b.click(`#decide form button[type="submit"]`)
	b.click(`.notice a[href^="/login"]`)
	b.pick(w.d.URL, olivia)
	b.sees(".notice", "You are signed in again")
	b.keeps("#f-reason", why)
	b.never("#outcome", "the return recorded a decision")
	b.never("#proposal", "the return proposed it")
	b.shot("step-back")
	// Where somebody else comes back, the text stays its writer's.
	w.dario.open(w.links["step"])
	w.dario.keeps("#f-reason", "")
	b.click(`#decide form button[type="submit"]`)
	b.sees("main", "A login that is at most 5 min old.")
	b.shot("step-confirm")
	b.click(confirmed)
	b.sees("#outcome", why)
	b.shot("step-decided")
}

// together: two people record at the same moment. One does; the other sees who
// and what, and keeps the text.
func (w *decisions) together() {
	whys := map[*tab]string{w.olivia: "Olivia read the folder: it is not there.", w.dario: "Dario asked the customer, who has none."}
	choices := map[*tab]string{w.olivia: "close_not_landed", w.dario: "reissue/new_key"}
	titles := map[*tab]string{w.olivia: "It did not land: close it", w.dario: "Re-issue it as a new request"}
	names := map[*tab]string{w.olivia: "Olivia Marsh", w.dario: "Dario Conti"}
	for b, why := range whys {
		w.ready(b, "together", notLanded)
		b.review(choices[b], "evidence_not_found", why)
		b.sees(confirmed, "Record the decision")
		b.expect("status of 409")
	}
	clicked := make(chan error, 2)
	for b := range whys {
		go func() {
			ctx, cancel := context.WithTimeout(b.ctx, patience)
			defer cancel()
			clicked <- chromedp.Do(ctx, chromedp.Click(chromedp.CSS(confirmed), chromedp.NodeVisible))
		}()
	}
	for range whys {
		if err := <-clicked; err != nil {
			w.t.Fatalf("recording: %v", err)
		}
	}
	for b := range whys {
		b.until(patience, "an answer", `document.querySelector(".notice") !== null && document.querySelector("#outcome") !== null`)
	}
	first, second := w.olivia, w.dario
	if ok, err := eval[bool](second, holds(".notice", "The decision is recorded")); err != nil || ok {
		first, second = second, first
	}
	first.sees(".notice", "The decision is recorded")
	second.sees(".notice", "Not recorded: "+names[first]+" decided first")
	second.sees(".notice", titles[first])
	second.sees("#outcome", whys[first])
	second.keeps("textarea.kept", whys[second])
	second.shot("together-second")
	if w.screen.NoScript {
		return
	}
	// The second page stands at the form's address; what happens next comes up there.
	const note = "Told the customer."
	first.write("#f-comment", note)
	first.click(`form[action$="/comment"] button`)
	second.sees("main", note)
}

// override: what the evidence forbids is opened by the check box, and takes a
// second person.
func (w *decisions) override() {
	const why, word = "This is the mail of another parcel, see the order.", "Checked the order number: not this parcel."
	b, j := w.olivia, w.jobs["override"]
	w.ready(b, "override", didLand)
	b.sees("#decide", "A second person may let it pass")
	b.expect("status of 409")
	b.review("reissue/new_key", "other", why)
	b.sees(".notice", "Not recorded: this is not open now")
	b.keeps("#f-reason", why)
	b.shot("override-blocked")
	b.click("#override-0")
	b.click(`input[name="choice"][value="reissue/new_key"]`)
	b.click(`#decide form button[type="submit"]`)
	b.sees(".notice", "This passes over what stands in the way")
	b.sees(confirmed, "Propose it")
	b.shot("override-confirm")
	b.click(confirmed)
	b.sees("#proposal", "It passes over")
	w.amara.open(w.d.URL + "/reviews")
	w.amara.sees("#proposals-h ~ table", "passes over")
	w.amara.shot("override-reviews")
	w.amara.open(w.links["override"])
	w.amara.write("#f-word", word)
	w.amara.shot("override-approver")
	w.amara.click(approveButton)
	w.amara.sees("#outcome", "Passed over")
	w.amara.shot("override-approved")
	j.Stop = stopNowhere
	startWorker(w.t, j).says(w.t, "done 2")
}

// alone: who is on call breaks the glass, and another person reviews it.
func (w *decisions) alone() {
	const why, found = "The customer waits at the counter, nobody is here.", "I read the folder: it was right to repeat it."
	j := w.jobs["glass"]
	w.ready(w.olivia, "glass", notLanded)
	w.olivia.never("#f-break-glass", "Olivia is not on call")
	w.provider.Old.Store(true)
	b := w.tab(dario)
	w.provider.Old.Store(false)
	w.ready(b, "glass", notLanded)
	b.click("#f-break-glass")
	b.expect("status of 403")
	b.review("reissue/new_key", "evidence_not_found", why)
	b.sees(".notice", "This needs a fresh login")
	b.click(`.notice a[href^="/login"]`)
	b.pick(w.d.URL, dario)
	b.keeps("#f-reason", why)
	if !b.has("#f-break-glass:checked") {
		w.t.Error("after the login the glass is whole again")
	}
	b.click(`#decide form button[type="submit"]`)
	b.sees("main", "You act alone: another person has to review it")
	b.sees(confirmed, "Record the decision")
	b.shot("glass-confirm")
	b.click(confirmed)
	b.sees("#outcome", "Taken alone")
	b.shot("glass-decided")
	b.open(w.d.URL + "/reviews")
	b.sees(".review", "another approver has to review it")
	b.never(".review form", "who took it reviews it")

	w.amara.open(w.d.URL + "/reviews")
	w.amara.sees(".review", j.subject())
	w.amara.write(".review textarea", "fine")
	w.amara.expect("status of 422")
	w.amara.click(`.review button[value="approve"]`)
	w.amara.sees(".review .field-error", "characters")
	w.amara.keeps(".review textarea", "fine")
	w.amara.shot("glass-short")
	w.amara.rewrite(".review textarea", found)
	w.amara.click(`.review button[value="approve"]`)
	w.amara.sees(".notice", "Your review is recorded")
	w.amara.never(".review", "the review is closed")
	w.amara.shot("glass-reviewed")
	j.Stop = stopNowhere
	startWorker(w.t, j).says(w.t, "done 2")
}

// takenBack: what policy settled is listed, taken back, and decided by a person.
func (w *decisions) takenBack() {
	const doubt, why = "The customer says that it never came.", "Found in the spam folder: it did come."
	b, j := w.olivia, w.jobs["settled"]
	link := w.find(b, w.d.URL+"/reviews", j.subject())
	b.shot("settled-reviews")
	b.click(fmt.Sprintf(`#settled-h ~ table a[href^=%q]`, strings.TrimPrefix(link, w.d.URL)))
	b.sees("#answer-h", didLand)
	b.sees("#outcome", "policy")
	b.shot("settled")
	b.review("reopen", "other", doubt)
	b.sees("h1", "Take the settlement by policy back")
	b.shot("settled-confirm")
	b.click(confirmed)
	b.sees("#outcome", doubt)
	b.shot("settled-reopened")
	b.loadsUntil(link, "the provider asked again, policy keeping off", `document.querySelector("#history").innerText.split("The provider was asked").length > 2`)
	b.sees("#answer-h", didLand)
	b.sees("#decide", "What is true")
	b.review("close_landed", "confirmed_by_person", why)
	b.click(confirmed)
	b.sees("#outcome", why)
	b.open(w.d.URL + "/reviews")
	b.sees("#settled-h ~ table", "no longer by policy")
	j.Stop = stopNowhere
	startWorker(w.t, j).says(w.t, "done 1")
}

// twins: what looks like the same deed under another key is named, with what
// differs.
func (w *decisions) twins() {
	b := w.olivia
	w.ready(b, "twin", notLanded)
	b.sees("#twins", w.jobs["other"].subject())
	b.sees("#twins table", "subject")
	b.sees("#twins table", w.jobs["twin"].subject())
	b.shot("twins")
}
