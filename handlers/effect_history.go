package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// attemptRows lists the attempts, newest first: the last one is the question.
func attemptRows(c clock, k *journal.Case) []web.AttemptRow {
	var out []web.AttemptRow
	for i := len(k.Attempts) - 1; i >= 0; i-- {
		a := k.Attempts[i]
		r := web.AttemptRow{
			Number: a.Number, Issue: a.Issue, Phase: web.PhaseBadge(a.Phase, i == len(k.Attempts)-1 && k.Live()),
			Worker: line(a.Worker), Granted: c.ago(a.GrantedAt), SendBy: c.ago(a.SendBy), Lease: c.ago(a.LeaseUntil),
			Fenced: c.maybe(a.FencedAt), Report: c.maybe(a.ReportedAt), Error: web.Visible(a.Error, web.ValueLimit), ProviderID: line(a.ProviderID),
		}
		note := func(on bool, text string) {
			if on {
				r.Notes = append(r.Notes, text)
			}
		}
		note(a.OrderID != "", "under an order")
		note(a.Status != 0, fmt.Sprintf("status %d", a.Status))
		note(a.Phase == journal.PhaseRefused && a.Final, "final")
		note(a.Replayed, "the provider repeated a stored answer")
		out = append(out, r)
	}
	return out
}

// maxEvents is how many events the page holds, the newest.
const maxEvents = 200

// eventRows is the timeline, newest first.
func eventRows(c clock, k *journal.Case, names people) (rows []web.EventRow, cut string) {
	events := k.Events
	if n := len(events) - maxEvents; n > 0 {
		cut = web.Count(n, "older event is", "older events are") + " not shown."
		events = events[n:]
	}
	for i := len(events) - 1; i >= 0; i-- {
		rows = append(rows, eventRow(c, events[i], names))
	}
	return rows, cut
}

// eventDetail is what the journal's events carry; each kind fills some of it.
type eventDetail struct {
	Reason     string `json:"reason"`
	Order      string `json:"order"`
	ProviderID string `json:"provider_id"`
	Late       bool   `json:"late"`
	Kept       *bool  `json:"kept"`
	Verdict    string `json:"verdict"`
	Adapter    string `json:"adapter"`
	Verb       string `json:"verb"`
	Mode       string `json:"mode"`
	By         string `json:"by"`
	Was        string `json:"was"`
	Now        string `json:"now"`
	Phase      string `json:"phase"`
	Error      string `json:"error"`
	Status     int    `json:"status"`
	Kind       string `json:"kind"`
	Value      string `json:"value"`
	How        string `json:"how"`
}

func eventRow(c clock, e journal.Event, names people) web.EventRow {
	var d eventDetail
	known := json.Unmarshal(e.Detail, &d) == nil
	r := web.EventRow{At: c.ago(e.At), Actor: names.who(e.Actor), Tone: web.ToneQuiet}
	r.Text, r.Tone, r.Detail = eventWords(e, d)
	if r.Text == "" {
		r.Text, r.Tone, known = "Event "+web.Visible(e.Kind, 60).String(), web.ToneQuiet, false
	}
	if !known && len(bytes.TrimSpace(e.Detail)) > 0 && !bytes.Equal(e.Detail, []byte("null")) {
		r.Detail = web.PrettyJSON(e.Detail, web.ValueLimit)
	}
	return r
}

// eventWords puts one event into words; "" for a kind that it does not know.
func eventWords(e journal.Event, d eventDetail) (string, web.Tone, web.Text) {
	n := fmt.Sprintf("Attempt %d", e.Attempt)
	long := func(s string) web.Text { return web.Visible(s, web.ValueLimit) }
	switch e.Kind {
	case journal.EventBegan:
		return "Begun: attempt 1 was granted", web.ToneInfo, web.Text{}
	case journal.EventGranted:
		if d.Order != "" {
			return n + " was granted, under the order", web.ToneInfo, web.Text{}
		}
		return n + " was granted", web.ToneInfo, web.Text{}
	case journal.EventDedupeHit:
		return "A repeat was answered with the recorded outcome", web.ToneGood, web.Text{}
	case journal.EventFenced:
		return n + " was fenced", web.ToneQuiet, web.Text{}
	case journal.EventReported:
		return reportWords(e, d)
	case journal.EventCommitted:
		return committedWords(n, d), web.ToneGood, prefixed("Provider’s id ", d.ProviderID)
	case journal.EventConflict:
		return "Two reports contradict each other; both are kept", web.ToneStop, long(strings.TrimSpace(d.Was + " / " + d.Now))
	case journal.EventKeyReused:
		return "The key was used for something else; nothing changed", web.ToneWarn, web.PrettyJSON(e.Detail, web.ValueLimit)
	case journal.EventDrift:
		return "A repeat differed outside the identity; the recorded outcome counts", web.ToneQuiet, web.PrettyJSON(e.Detail, web.ValueLimit)
	case journal.EventParked:
		return "Parked", web.ToneWarn, long(web.ParkedSentence(d.Reason))
	case journal.EventEvidence:
		b := web.VerdictBadge(journal.Verdict(d.Verdict), d.Reason)
		return "The provider was asked: " + strings.ToLower(b.Text[:1]) + b.Text[1:], b.Tone, prefixed("Adapter ", d.Adapter)
	}
	return moreEventWords(e, d)
}

func moreEventWords(e journal.Event, d eventDetail) (string, web.Tone, web.Text) {
	switch e.Kind {
	case journal.EventDecided:
		return "Decided: " + strings.ToLower(verbTitle(journal.Verb(d.Verb), journal.ReissueMode(d.Mode))), web.ToneInfo, web.Text{}
	case journal.EventCorrected:
		return "Born in the place of an effect that a person corrected", web.ToneInfo, web.Text{}
	case journal.EventProposed:
		return "Proposed: " + strings.ToLower(verbTitle(journal.Verb(d.Verb), journal.ReissueMode(d.Mode))), web.ToneWait, web.Text{}
	case journal.EventProposalOver:
		return "The proposal was " + proposalEnd(d.How), web.ToneQuiet, web.Visible(d.Reason, web.ValueLimit)
	case journal.EventOrderVoid:
		return "The order was voided", web.ToneWarn, web.Text{}
	case journal.EventOrderExpired:
		return "The order expired", web.ToneWarn, web.Text{}
	case journal.EventSettled:
		return "Settled", web.ToneGood, line(plainActor(d.By))
	case journal.EventHandle:
		return "The worker noted an id at the provider", web.ToneQuiet, web.Visible(strings.TrimSpace(d.Kind+" "+d.Value), web.ValueLimit)
	case journal.EventAcknowledged:
		return "A person acknowledged it", web.ToneInfo, web.Visible(d.Reason, web.ValueLimit)
	case journal.EventAcked:
		return "The runtime picked the outcome up", web.ToneGood, web.Text{}
	case journal.EventRedelivered:
		return "A person had the outcome handed over again", web.ToneInfo, web.Text{}
	case journal.EventContradicted:
		return "Contradicted: it was closed, and has landed after all", web.ToneStop, web.Text{}
	case journal.EventDouble:
		return "It probably landed twice", web.ToneStop, web.Text{}
	}
	return teamEventWords(e)
}

func proposalEnd(how string) string {
	switch how {
	case journal.ProposalVoid:
		return "overtaken: the effect moved on"
	case journal.ProposalExpired:
		return "not answered in time"
	}
	return web.Visible(how, 40).String()
}

func committedWords(n string, d eventDetail) string {
	if d.Late {
		return n + " reported that it landed, late"
	}
	return n + " reported that it landed"
}

func reportWords(e journal.Event, d eventDetail) (string, web.Tone, web.Text) {
	if d.Reason == journal.ReasonBudgetSpent {
		return "The retry budget is spent; nothing may have landed", web.ToneWarn, web.Text{}
	}
	b := web.PhaseBadge(journal.Phase(d.Phase), false)
	text := fmt.Sprintf("Attempt %d ended: %s", e.Attempt, strings.ToLower(b.Text))
	if e.Attempt == 0 {
		text = "A report came in: " + strings.ToLower(b.Text)
	}
	if d.Late {
		text += ", reported late"
	}
	detail := d.Error
	if d.Status != 0 {
		detail = strings.TrimSpace(fmt.Sprintf("status %d  %s", d.Status, d.Error))
	}
	return text, b.Tone, web.Visible(detail, web.ValueLimit)
}

func prefixed(prefix, s string) web.Text {
	if s == "" {
		return web.Text{}
	}
	return web.Visible(prefix+s, web.ValueLimit)
}
