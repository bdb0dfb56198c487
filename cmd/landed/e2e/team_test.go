package e2e_test

import (
	"testing"
)

// TestTeam: two people at one effect see each other, one says that they are on it
// and what they found out, and puts it aside: on each screen, and without scripts.
func TestTeam(t *testing.T) {
	t.Parallel()
	readAxe(t)
	browser := startBrowser(t)
	d := startDesk(t, setup{})
	startWorker(t, d.job("run-control", "parcel-0", stopNowhere)).says(t, "done 1")
	for _, s := range screens() {
		t.Run(s.Name, func(t *testing.T) { togetherStory{story{t, d, browser, s}}.tell() })
	}
}

type togetherStory struct{ story }

const whySnooze = "They call back in the afternoon."

func (s togetherStory) tell() {
	j := s.d.job("run-team-"+s.screen.Name, "parcel-"+s.screen.Name, stopSending)
	w := startWorker(s.t, j)
	w.says(s.t, stopSending)
	w.kill(s.t)
	link := s.d.sink.next(s.t).OldestURL

	one := newTab(s.t, s.browser, s.d.URL, s.screen, "operator")
	s.signIn(one, link, operator())
	reader := newTab(s.t, s.browser, s.d.URL, s.screen, "viewer")
	s.signIn(reader, link, viewer())
	two := newTab(s.t, s.browser, s.d.URL, s.screen, "operator-too")
	s.signIn(two, link, operator())
	// The effect can be settled as far as evidence goes: nothing changes by itself below.
	one.opensUntil(link, "#answer-h", "No, it did not land.")
	s.seesTheOther(one, two, reader, link)

	one.click(`#team form:has(input[value="take"]) button`)
	one.sees("#team-h", "You are on it until")
	one.shot("team-mine")
	reader.open(link)
	reader.sees("#team-h", operator().Name+" is on it until")
	if reader.has("#together") || reader.has("#team form") {
		s.t.Error("a viewer is offered a form of the team")
	}
	reader.shot("team-other")

	one.write("#f-comment", "<b>Called them.</b>")
	one.click(`form[action$="/comment"] button`)
	one.sees(".timeline .event-detail", "<b>Called them.</b>")

	one.click("#fold-snooze summary")
	one.shot("team-snooze")
	one.click(`input[name="snooze"][value="evidence"]`)
	one.write("#f-why-snooze", whySnooze)
	one.click(`#fold-snooze form button`)
	one.sees(".team-snooze", "Snoozed by "+operator().Name)
	one.shot("team-snoozed")
	one.open(s.d.URL + "/")
	one.sees(".snoozed-link", "1 snoozed")
	one.click(".snoozed-link")
	one.sees("h1", "1 effect is snoozed")
	one.sees("table.list", j.subject())
	one.sees(".row-flags", "1 comment")
	one.shot("list-snoozed")
	one.open(link)
	one.click(`#team form:has(input[value="wake"]) button`)
	one.sees("[data-notice]", "It is back on the list")
	one.opensUntil(s.d.URL+"/?claim=mine", "table.list", j.subject())
	one.shot("list-mine")
}

// seesTheOther: an open window shows in the others, and is gone once it is closed.
func (s togetherStory) seesTheOther(one, two, reader *tab, link string) {
	s.t.Helper()
	if s.screen.NoScript {
		one.sees("#team-h", "Nobody is on it")
		return
	}
	two.open(link)
	two.sees("[data-present]", "You have this open in another window")
	reader.open(link)
	reader.sees("[data-present]", operator().Name+" has this open")
	two.shot("team-present")
	one.open(s.d.URL + "/")
	two.open(link)
	two.until(patience, "the other window is gone", `document.querySelector("[data-present]") !== null && document.querySelector("[data-present]").childElementCount === 0`)
	two.open(s.d.URL + "/")
	one.open(link)
}
