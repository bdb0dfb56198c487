package handlers

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// maxSamples is how many effects stand for the others of their kind.
const maxSamples = 5

func newBulkHead(k clock, b *journal.Bulk, title string) web.BulkHead {
	h := web.BulkHead{ID: b.ID, Title: title, By: line(firstOf(b.Actor.Name, b.Actor.Subject)), At: k.ago(b.CreatedAt), List: web.RouteList}
	if values, err := url.ParseQuery(b.Filter); err == nil {
		q := listQueryOf(values)
		h.List = web.ListURL(q)
		for _, a := range activeFilters(q) {
			h.Facts = append(h.Facts, web.Fact{Name: a.Name, Value: a.Value})
		}
	}
	if b.Matched > b.Count {
		n := web.Number(b.Matched)
		if b.Matched >= journal.MaxGrouped {
			n = "At least " + n
		}
		h.Cut = n + " effects matched; the set holds the first " + web.Number(b.Count) + " in the order of the list. More are not decided together."
	}
	return h
}

// newBulkPage builds the dry run: what each choice would reach, by the rules of
// single decisions, and what not, and why.
func newBulkPage(sh web.Shell, who journal.Actor, b *journal.Bulk, now map[string]*journal.Snapshot, f bulkForm) web.BulkPage {
	k := clock{b.Now}
	p := web.BulkPage{Shell: sh, Head: newBulkHead(k, b, "Decide "+web.Count(b.Count, "effect", "effects")+" together"), URL: web.BulkConfirmURL(b.ID),
		Draft: web.BulkDraft{Choice: f.choice, Code: f.code, Reason: f.reason, Count: f.count}, Codes: reasonCodes(f.code), Errors: f.errors, Count: f.countError}
	actor := b.Actor
	switch {
	case !who.MayDecide():
		p.Closed = "You are signed in as " + roleNames(who) + ": operators and approvers decide."
	case !who.Same(b.Actor):
		p.Closed = "Somebody else froze this set: only who saw it may decide it. Make one of your own from the list."
	default:
		actor = who
	}
	var weights [][]journal.BulkWeight
	for _, ch := range bulkChoices(now) {
		ws := b.WeighBulk(journal.BulkOrder{BulkID: b.ID, Verb: ch.Verb, Mode: ch.Mode, Actor: actor, At: b.Now}, now)
		weights = append(weights, ws)
		c := bulkChoice(ch, ws)
		c.Checked = f.choice == c.Value && c.Reaches > 0
		p.Choices = append(p.Choices, c)
	}
	p.Verdicts = bulkVerdicts(b, weights)
	return p
}

// bulkChoices are the ways to decide a set.
func bulkChoices(now map[string]*journal.Snapshot) []journal.Choice {
	native := false
	for _, s := range now {
		native = native || s.Effect.Class == journal.ClassProviderIdempotent
	}
	out := []journal.Choice{{Verb: journal.VerbCloseLanded}, {Verb: journal.VerbCloseNotLanded}}
	if native {
		out = append(out, journal.Choice{Verb: journal.VerbReissue, Mode: journal.SameKey})
	}
	return append(out, journal.Choice{Verb: journal.VerbReissue, Mode: journal.NewKey})
}

func bulkChoice(ch journal.Choice, ws []journal.BulkWeight) web.BulkChoice {
	c := web.BulkChoice{Value: choiceValue(ch.Verb, ch.Mode), Title: verbTitle(ch.Verb, ch.Mode), Means: bulkMeans(ch)}
	reaches, signIn := reach(ws)
	c.Reaches, c.Reached = reaches, "It reaches "+web.Number(reaches)+" of "+web.Count(len(ws), "effect", "effects")+"."
	proposed, against := 0, 0
	at := map[string]int{} // why not → its place
	for _, w := range ws {
		if w.Against {
			against++
		}
		switch {
		case w.Eligible && w.Item.Outcome == journal.BulkProposed:
			proposed++
			fallthrough
		case w.Eligible:
			c.Samples = addSample(c.Samples, w.Item)
		default:
			why := bulkWhy(w.Item)
			i, ok := at[why]
			if !ok {
				i = len(c.Not)
				at[why] = i
				c.Not = append(c.Not, web.BulkNot{Why: why})
			}
			n := &c.Not[i]
			n.Samples = addSample(n.Samples, w.Item)
		}
	}
	counts := map[string]int{}
	for _, w := range ws {
		if !w.Eligible {
			counts[bulkWhy(w.Item)]++
		}
	}
	for i := range c.Not {
		c.Not[i].Count = web.Count(counts[c.Not[i].Why], "effect", "effects")
	}
	slices.SortStableFunc(c.Not, func(a, b web.BulkNot) int { return cmp.Compare(counts[b.Why], counts[a.Why]) })
	c.Notes = bulkNotes(against, proposed, signIn)
	return c
}

// bulkNotes say what is special about a part of what a choice reaches.
func bulkNotes(against, proposed, signIn int) []string {
	var out []string
	if against > 0 {
		out = append(out, "This departs from what is recommended for "+web.Count(against, "effect", "effects")+".")
	}
	if proposed > 0 {
		out = append(out, web.Count(proposed, "effect waits", "effects wait")+" for a second person: until then nothing is ordered or closed there.")
	}
	if signIn > 0 {
		out = append(out, "The policy asks for a fresh login for "+web.Count(signIn, "effect", "effects")+".")
	}
	return out
}

func addSample(list []web.BulkSample, it journal.BulkItem) []web.BulkSample {
	if len(list) >= maxSamples {
		return list
	}
	return append(list, web.BulkSample{URL: itemURL(it), Subject: itemLine(it).Subject})
}

// itemLine names an item; of a purged effect only the id is left.
func itemLine(it journal.BulkItem) web.EffectLine {
	if it.Effect.ID == "" {
		return web.EffectLine{Subject: line(it.EffectID)}
	}
	return effectLine(it.Effect)
}

func itemURL(it journal.BulkItem) string {
	if it.Effect.ID == "" {
		return ""
	}
	return web.EffectURL(it.EffectID)
}

// bulkMeans is one choice, over many.
func bulkMeans(ch journal.Choice) string {
	if ch.Verb == journal.VerbReissue {
		return verbMeans(ch.Verb, ch.Mode) + " Open only for effects whose newest look conclusively did not find them."
	}
	return verbMeans(ch.Verb, ch.Mode)
}

// bulkWhy says why an item is not decided.
func bulkWhy(it journal.BulkItem) string {
	if code, ok := strings.CutPrefix(it.Code, "blocked:"); ok {
		return web.BlockSentence(code)
	}
	switch it.Code {
	case "":
		return ""
	case journal.BulkCodeGone:
		return "It was purged since the set was frozen."
	case journal.BulkCodeTwice:
		return "You decided it by itself meanwhile."
	case journal.BulkCodeStopped:
		return "The order was stopped before its turn."
	case journal.BulkCodeFailed:
		return "It could not be tried, several times: the provider could not be asked, or the journal failed. The server’s log has the cause."
	case journal.BulkCodeStale:
		return "It changed since the set was frozen. " + it.Why
	}
	return upper(strings.TrimSuffix(it.Why, ".")) + "."
}

// bulkVerdicts counts the set by what the newest look said when it was frozen.
func bulkVerdicts(b *journal.Bulk, weights [][]journal.BulkWeight) []web.BulkVerdict {
	var out []web.BulkVerdict
	for _, v := range []journal.Verdict{journal.Found, journal.FoundPending, journal.FoundNotEffective, journal.Duplicate, journal.NotFound, journal.CannotTell, ""} {
		n := 0
		for _, it := range b.Items {
			if it.Verdict == v {
				n++
			}
		}
		if n == 0 {
			continue
		}
		row := web.BulkVerdict{Verdict: verdictCount(v), Count: web.Number(n)}
		for _, ws := range weights {
			open := 0
			for _, w := range ws {
				if w.Eligible && w.Item.Verdict == v {
					open++
				}
			}
			row.Open = append(row.Open, web.Number(open))
		}
		out = append(out, row)
	}
	return out
}

// newBulkConfirm builds the page between the form and the record.
func newBulkConfirm(sh web.Shell, b *journal.Bulk, f bulkForm, o journal.BulkOrder, ws []journal.BulkWeight) web.BulkConfirmPage {
	reaches, _ := reach(ws)
	proposed, against, rules := 0, 0, []string{}
	for _, w := range ws {
		if !w.Eligible {
			continue
		}
		if w.Against {
			against++
		}
		if w.Item.Outcome == journal.BulkProposed {
			proposed++
		}
		for _, r := range w.Demand.Rules {
			if !slices.Contains(rules, r) {
				rules = append(rules, r)
			}
		}
	}
	p := web.BulkConfirmPage{Shell: sh, Head: newBulkHead(clock{b.Now}, b, "Decide "+web.Count(b.Count, "effect", "effects")+" together"),
		Title: verbTitle(o.Verb, o.Mode), Reached: web.Count(reaches, "effect", "effects"), Follows: bulkFollows(o, reaches), Asks: bulkNotes(0, proposed, 0), Against: bulkNotes(against, 0, 0),
		Code: web.ReasonCodeText(o.ReasonCode), Reason: web.Visible(o.Reason, web.NoLimit),
		Draft:   web.BulkDraft{Choice: f.choice, Code: f.code, Reason: f.reason, Count: f.count},
		PostURL: web.BulkURL(b.ID), EditURL: web.BulkConfirmURL(b.ID), Button: "Order " + web.Count(reaches, "decision", "decisions")}
	if len(rules) > 0 {
		p.Asks = append(p.Asks, upper(rulesText(rules))+" asks so.")
	}
	if left := len(ws) - reaches; left > 0 {
		p.Left = web.Count(left, "effect of the set is", "effects of the set are") + " not reached and stay as they are."
	}
	if proposed == reaches {
		p.Button = "Propose " + web.Count(reaches, "decision", "decisions")
	}
	return p
}

func bulkFollows(o journal.BulkOrder, reaches int) []string {
	out := []string{"For each effect: " + verbMeans(o.Verb, o.Mode)}
	if o.Verb == journal.VerbReissue {
		out = append(out, "Workers may repeat "+web.Count(reaches, "effect", "effects")+". Each order is for one attempt and expires.")
	}
	if o.Verb == journal.VerbCloseNotLanded {
		out = append(out, "Where a tool’s policy is to, the runtime is also asked to undo what the effect’s run has completed; the effect’s own page lists it.")
	}
	return append(out, "Each is a decision of its own, one after the other, in the background. Evidence that is too old is pulled again first.",
		"What has changed since the set was frozen is left alone.",
		"Your name and reason are kept in the audit trail, for the order and for each decision. It can be stopped; what is decided can’t be taken back.")
}

// newBulkResult shows an order and what became of each item.
func newBulkResult(sh web.Shell, who journal.Actor, b *journal.Bulk, watch bool) web.BulkResultPage {
	k, o := clock{b.Now}, b.Order
	p := web.BulkResultPage{Shell: sh, Head: newBulkHead(k, b, web.Count(b.Count, "effect", "effects")+", decided together"), State: bulkState(b.State),
		Title: verbTitle(o.Verb, o.Mode), Code: web.ReasonCodeText(o.ReasonCode), Reason: web.Visible(o.Reason, journal.MaxReasonBytes), At: k.ago(o.At),
		Ended: k.maybe(b.EndedAt), Running: b.State == journal.BulkRunning, Watch: watch, WatchTo: web.BulkURL(b.ID)}
	if watch {
		p.WatchTo = web.BulkWatchOffURL(b.ID)
	}
	if b.State == journal.BulkStopped {
		p.Stopped = line(firstOf(b.StoppedBy.Name, b.StoppedBy.Subject))
	}
	n := b.Tally()
	for _, out := range append(journal.BulkOutcomes(), "") {
		if n[out] > 0 {
			p.Tally = append(p.Tally, web.BadgeCount{Badge: bulkOutcome(out), Count: web.Number(n[out])})
		}
	}
	p.Reviews = n[journal.BulkProposed] > 0
	if who.MayDecide() && p.Running {
		p.StopURL = web.BulkStopURL(b.ID)
	}
	if who.MayDecide() && !p.Running {
		p.Several = &web.BulkStart{Filter: b.Filter, Text: "Freeze what the filter shows now"}
	}
	for _, it := range b.Items {
		r := web.BulkRow{No: web.Number(it.No), URL: itemURL(it), Effect: itemLine(it), Outcome: bulkOutcome(it.Outcome), Why: bulkWhy(it), At: k.maybe(it.At)}
		if r.URL != "" {
			r.State = siblingState(it.Effect.State)
		}
		p.Rows = append(p.Rows, r)
	}
	return p
}

func bulkState(st journal.BulkState) web.Badge {
	switch st {
	case journal.BulkRunning:
		return web.Badge{Tone: web.ToneWait, Text: "Under way"}
	case journal.BulkDone:
		return web.Badge{Tone: web.ToneGood, Text: "Done"}
	case journal.BulkStopped:
		return web.Badge{Tone: web.ToneWarn, Text: "Stopped"}
	}
	return web.Badge{Tone: web.ToneQuiet, Text: string(st)}
}

func bulkOutcome(o journal.BulkOutcome) web.Badge {
	switch o {
	case journal.BulkDecided:
		return web.Badge{Tone: web.ToneGood, Text: "Decided"}
	case journal.BulkProposed:
		return web.Badge{Tone: web.ToneWait, Text: "Proposed"}
	case journal.BulkRefused:
		return web.Badge{Tone: web.ToneStop, Text: "Refused"}
	case journal.BulkStale:
		return web.Badge{Tone: web.ToneWarn, Text: "Changed meanwhile"}
	case journal.BulkSkipped:
		return web.Badge{Tone: web.ToneQuiet, Text: "Not reached"}
	}
	return web.Badge{Tone: web.ToneWait, Text: "Not yet"}
}
