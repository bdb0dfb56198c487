package model

import "testing"

// TestStories plays stories that once broke a promise, cut down to their
// shortest form.
func TestStories(t *testing.T) {
	t.Parallel()
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := replay(t.Context(), openStage(t), s.story)
			switch {
			case p.failure != "":
				t.Fatalf("\n%s", p.report())
			case len(p.s.ops) != len(s.story.ops) && !p.slow():
				t.Fatalf("only %d of %d acts applied:\n%s", len(p.s.ops), len(s.story.ops), p.report())
			}
		})
	}
}

// Variants of acts, as resolve reads them.
const (
	answered, answerLost = 0, 2 // doCall: it lands, and the answer comes or is lost
	reportSent           = 0    // doFail, of a request that may have left
	reportNotSent        = 8    // doFail, of one that did not
	sawTruth             = 0    // doAsk
	sawNothing           = 5    // doAsk: CANNOT_TELL
	sawPending           = 3    // doAsk: FOUND_PENDING
	orderNewKey          = 1    // doDecide: reissue new_key
	orderSameKey         = 7    // doDecide: reissue same_key
	closeNotLanded       = 10   // doDecide
	closeLanded          = 16   // doDecide
	wronglyNotSent       = 1    // doLie
	wronglyRefused       = 2    // doLie
	againSent            = 3    // doLie
	secs10, secs40       = 0, 2 // doPass
)

const mail, ticket, pay = 0, 1, 2

type namedStory struct {
	name  string
	story story
}

func told(name string, tool int, ops ...op) namedStory {
	return namedStory{name, story{tools: []int{tool}, ops: ops}}
}

func stories() []namedStory {
	begin := op{kind: doBegin}
	at := func(k kind, n, x int) op { return op{kind: k, n: n, x: x} }
	atOnce := func(how int, ops ...op) op { return op{kind: doTogether, x: how, with: ops} }
	parkedMail := []op{begin, at(doFail, 1, reportSent)}
	after := func(first []op, more ...op) []op { return append(append([]op{}, first...), more...) }
	return []namedStory{
		told("a heartbeat while evidence is recorded keeps its lease", mail,
			begin, at(doAsk, 0, sawNothing), at(doPass, 0, secs10), atOnce(beforeSave, at(doRecord, 0, 0), at(doHeartbeat, 1, 0))),
		told("a delivery picked up while evidence is recorded stays closed", mail, after(parkedMail,
			at(doAsk, 0, sawNothing), at(doDecide, 0, closeNotLanded), atOnce(beforeSave, at(doRecord, 0, 0), at(doAck, 0, 0)))...),
		told("two deliveries picked up at once leave none open", mail,
			begin, at(doCall, 1, answered), at(doPass, 0, secs40), at(doDecide, 0, closeNotLanded), at(doCommit, 1, 0),
			atOnce(beforeCommit, at(doAck, 1, 0), at(doAck, 0, 0))),
		told("an effect that is stuck under an order can be ordered again", mail, after(parkedMail,
			at(doDecide, 0, orderNewKey), begin, at(doPass, 0, secs40), at(doDecide, 0, orderNewKey))...),
		told("a begin that returns the outcome closes its delivery", ticket,
			begin, at(doCall, 1, answered), at(doAsk, 0, sawTruth), at(doRecord, 0, 0), at(doPass, 0, secs40), begin),
		told("a look follows when a late commit settles a live attempt's end", pay,
			begin, at(doCall, 1, answered), at(doPass, 0, secs40), begin, at(doCommit, 1, 0), at(doFail, 2, reportSent)),
		told("a look follows when policy settles while another attempt may have landed", ticket,
			begin, at(doCall, 1, answered), at(doPass, 0, secs40), at(doDecide, 0, orderNewKey), at(doAsk, 0, sawTruth), begin,
			at(doPass, 0, secs40), at(doRecord, 0, 0)),
		told("a look follows when a person closes as landed while another attempt may have landed", pay,
			begin, at(doCall, 1, answered), at(doPass, 0, secs40), begin, at(doCommit, 1, 0), at(doPass, 0, secs40), at(doDecide, 0, closeLanded)),
		told("an order that came back unsent is over when its attempt was sent after all", mail, after(parkedMail,
			at(doDecide, 0, orderNewKey), begin, at(doFail, 2, reportNotSent), at(doLie, 2, againSent), begin)...),
		told("a final refusal beside a hit is not REJECTED", ticket,
			begin, at(doCall, 1, answerLost), at(doPass, 0, secs40), at(doAsk, 0, sawPending), at(doRecord, 0, 0), at(doLie, 1, wronglyRefused)),
		told("a final refusal beside a hit that its key window exempts is not REJECTED", pay,
			begin, at(doCall, 1, answerLost), at(doAsk, 0, sawTruth), at(doRecord, 0, 0), at(doLie, 1, wronglyRefused)),
		told("a not_sent beside a pending hit hands nothing out", ticket,
			begin, at(doCall, 1, answerLost), at(doPass, 0, secs40), at(doAsk, 0, sawPending), at(doRecord, 0, 0), at(doLie, 1, wronglyNotSent), begin),
		told("a commit repeated at once is answered with one truth", mail,
			begin, at(doCall, 1, answered), at(doPass, 0, secs40), at(doDecide, 0, closeNotLanded),
			atOnce(whileRead, at(doCommit, 1, 0), at(doCommit, 1, 0))),
		told("a decision is refused by what is so, not by half of it", ticket,
			begin, atOnce(whileRead, at(doDecide, 0, orderSameKey), at(doFail, 1, reportNotSent))),
	}
}
