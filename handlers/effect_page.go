package handlers

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// effectView is what the page depends on beside the effect: who looks, how much
// is asked for, and what a refused form left behind.
type effectView struct {
	Who     journal.Actor
	AllArgs bool
	Hosts   []string // where links in evidence may lead; empty = any https host
	Form    *formState
	Ack     ackState
	Word    wordState
	Team    teamState
}

// newEffectPage builds the page of one effect.
func newEffectPage(sh web.Shell, k *journal.Case, v effectView) web.EffectPage {
	c := clock{k.Now}
	names := namesOf(k, v.Who)
	a := journal.Assess(&k.Snapshot)
	p := web.EffectPage{
		Shell: sh, Head: effectHead(c, k), Version: pageVersion(k), Poll: web.VersionURL(k.Effect.ID),
		Answer: newAnswer(c, &k.Snapshot, a), Look: lookBox(c, k, v.Who), Outcome: newOutcome(c, k, names, v.Who.MayDecide()),
		Decide: newDecideBox(c, k, a, v), Ack: newAckBox(k, v), Proposal: newProposalBox(c, k, a, v), Twins: twinCards(c, k),
		Team: newTeamBox(c, k, v), TeamForms: newTeamForms(c, k, a, v), Present: web.PresenceURL(k.Effect.ID),
		Args:     newPayload(k.Effect.Args, k, v.AllArgs),
		Attempts: attemptRows(c, k), Siblings: siblingRows(c, k),
		RunURL: web.ListURL(web.ListQuery{RootRun: k.Effect.RootRun}), Facts: effectFacts(c, k, names),
	}
	p.Watching = !p.Decide.Open && p.Ack == nil && p.Proposal == nil
	p.Evidence, p.History = newEvidence(c, k, v.Hosts, names)
	p.Basis = newBasis(k, nil)
	if len(k.Evidence) > 0 {
		p.Basis = newBasis(k, &k.Evidence[mainLook(k)])
	}
	p.Events, p.EventsCut = eventRows(c, k, names)
	p.Events = withComments(c, k, p.Events)
	if k.Effect.Result != nil {
		r := newPayload(k.Effect.Result, nil, v.AllArgs)
		r.AllURL = web.EffectArgsURL(k.Effect.ID)
		p.Result = &r
	}
	return p
}

func effectHead(c clock, k *journal.Case) web.EffectHead {
	e := &k.Effect
	return web.EffectHead{
		URL: web.EffectURL(e.ID), Subject: subject(e), Tool: line(e.Tool), Operation: line(e.Operation), Provider: line(e.Provider),
		Money: money(e.Amount, e.Currency), Class: web.ClassName(e.Class), ClassMeaning: web.ClassMeaning(e.Class),
		State: web.StateBadge(e.State, k.Live()), StateMeaning: web.StateName(e.State), Began: c.ago(e.CreatedAt), Flags: flags(e),
	}
}

func lookBox(c clock, k *journal.Case, who journal.Actor) web.LookBox {
	b := web.LookBox{URL: web.LookURL(k.Effect.ID)}
	switch {
	case !k.CanLook && k.Effect.Provider == "":
		b.Why = "This tool names no provider, so Landed can’t ask."
	case !k.CanLook:
		b.Why = "Landed can’t ask this provider: no adapter is set up, or the limit of looks is reached."
	case k.Live():
		b.Why = "Asking makes sense once the attempt has ended."
	case !who.MayDecide():
		b.Why = "Operators and approvers can have it asked again."
	default:
		b.Allowed = true
	}
	if at := k.Effect.NextLookAt; !at.IsZero() && k.CanLook {
		b.Running = !at.After(c.now)
		if !b.Running {
			b.Next = c.maybe(at)
		}
	}
	return b
}

func siblingRows(c clock, k *journal.Case) []web.SiblingRow {
	var out []web.SiblingRow
	for _, s := range k.Siblings {
		if s.ID == k.Effect.ID {
			continue
		}
		out = append(out, web.SiblingRow{
			URL: web.EffectURL(s.ID), Subject: line(firstOf(strings.TrimSpace(s.Subject), s.Operation, s.Tool)),
			Tool: line(s.Tool), Operation: line(s.Operation), Money: money(s.Amount, s.Currency),
			// Whether a sibling's attempt is live is not read here: INTENT is shown as such.
			State: siblingState(s.State), Began: c.ago(s.CreatedAt),
		})
	}
	return out
}

func siblingState(st journal.State) web.Badge {
	if st == journal.StateIntent {
		return web.Badge{Tone: web.ToneWait, Text: "Intent"}
	}
	return web.StateBadge(st, false)
}

// effectFacts is what identifies the effect, for whoever has to find it elsewhere.
func effectFacts(c clock, k *journal.Case, names people) []web.Fact {
	e := &k.Effect
	var out []web.Fact
	add := func(name, value string, code bool) {
		if value != "" {
			out = append(out, web.Fact{Name: name, Value: web.Visible(value, web.ValueLimit), Code: code})
		}
	}
	add("Effect id", e.ID, true)
	add("Namespace", e.Namespace, true)
	add("Key", e.Key, true)
	add("Reference at the provider", e.Ref, true)
	if e.Ref != "" {
		add("Provider key of issue "+fmt.Sprint(e.Issue), journal.ProviderKey(e.Ref, e.Issue), true)
	}
	add("Provider’s id", e.ProviderID, true)
	add("Root run", e.RootRun, true)
	add("Turn", e.Turn, true)
	add("Run", e.Run, true)
	add("Step", e.Step, true)
	for _, name := range sortedKeys(e.Labels) {
		add("Label "+web.Visible(name, 60).String(), e.Labels[name], false)
	}
	add("Refusal", e.Refusal, false)
	if e.State == journal.StateParked {
		add("Parked because", web.ParkedSentence(e.ParkedReason), false)
	}
	if e.SettledBy != "" {
		out = append(out, web.Fact{Name: "Settled by", Value: names.who(e.SettledBy)})
	}
	out = append(out, web.Fact{Name: "In this state since", At: c.maybe(e.StateAt)})
	link := func(name, id string) {
		if journal.ValidID(id) {
			out = append(out, web.Fact{Name: name, Value: web.Plain(id), URL: web.EffectURL(id)})
		}
	}
	link("Takes the place of", e.Supersedes)
	link("Replaced by", k.SupersededBy)
	link("Undoes", e.Compensates)
	if u := k.Compensation; u != nil {
		link("Undone by ("+strings.ToLower(siblingState(u.State).Text)+")", u.ID)
	}
	add("Fingerprint (rule "+fmt.Sprint(e.FingerprintRule)+")", e.Fingerprint, true)
	add("Traceparent", e.Traceparent, true)
	add("Retry budget", fmt.Sprintf("%d of %d spent", k.Budget.Spent, k.Budget.Limit), false)
	add("Policy", k.Policy.Version, true)
	return out
}

func sortedKeys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for name := range m {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// newPayload lays out args or a result. k is nil for a result, which no tool
// narrows. Members of the identity come first and long ones last: nothing in one
// member can push another out of sight.
func newPayload(raw []byte, k *journal.Case, all bool) web.Payload {
	if len(raw) == 0 {
		return web.Payload{Absent: "None were stored, or they were purged after their retention."}
	}
	limit := web.ValueLimit
	if all {
		limit = web.NoLimit
	}
	p := web.Payload{Size: web.Count(len(raw), "byte", "bytes"), Digest: web.Digest(raw)}
	members, isObject := web.Members(raw)
	if !isObject || len(members) == 0 {
		p.Whole = web.PrettyJSON(raw, limit)
		if p.Whole.Cut > 0 {
			p.Cut = web.Count(p.Whole.Cut, "character is", "characters are") + " not shown."
		}
		if k != nil {
			p.AllURL = web.EffectArgsURL(k.Effect.ID)
		}
		return p
	}
	var tool journal.Tool
	if k != nil {
		tool = k.Tool
		p.AllURL = web.EffectArgsURL(k.Effect.ID)
	}
	fillMembers(&p, members, tool, all, limit)
	return p
}

// maxMembers is how many members are shown unless all are asked for; longMember
// is how many bytes make a value need a box of its own.
const (
	maxMembers = 60
	longMember = 600
)

func fillMembers(p *web.Payload, members []web.RawMember, tool journal.Tool, all bool, limit int) {
	hidden, cut, left := 0, 0, 0
	identity := func(name string) bool { return slices.Contains(tool.IdentityFields, name) }
	rank := func(m web.RawMember) int {
		switch {
		case identity(m.Name):
			return 0
		case len(m.Value) <= longMember:
			return 1
		}
		return 2
	}
	sort.SliceStable(members, func(i, j int) bool { return rank(members[i]) < rank(members[j]) })
	for _, m := range members {
		if len(tool.DisplayFields) > 0 && !slices.Contains(tool.DisplayFields, m.Name) {
			hidden++
			continue
		}
		if len(p.Members) >= maxMembers && !all {
			left++
			continue
		}
		v := web.PrettyJSON(m.Value, limit)
		cut += v.Cut
		p.Members = append(p.Members, web.Member{Name: web.Visible(m.Name, web.LineLimit), Value: v, Identity: identity(m.Name), Long: len(m.Value) > longMember})
	}
	if hidden > 0 {
		p.Hidden = web.Count(hidden, "further member is", "further members are") + " left out: the tool’s display_fields do not name " + them(hidden) + "."
	}
	switch {
	case cut > 0 && left > 0:
		p.Cut = web.Count(cut, "character", "characters") + " and " + web.Count(left, "member", "members") + " are not shown."
	case cut > 0:
		p.Cut = web.Count(cut, "character is", "characters are") + " not shown."
	case left > 0:
		p.Cut = web.Count(left, "member is", "members are") + " not shown."
	}
}

func them(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// safeLink returns raw and its host if a page may link to it: a host that is
// allowed, no user info, https. Plain http is for a loopback address that is
// allowed by name: a sandbox on the reader's own machine.
func safeLink(raw string, hosts []string) (link, host string) {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Opaque != "" {
		return "", ""
	}
	named := slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, u.Hostname()) })
	ip, err := netip.ParseAddr(u.Hostname())
	local := err == nil && ip.IsLoopback()
	switch {
	case u.Scheme == "https" && (named || len(hosts) == 0):
	case u.Scheme == "http" && named && local:
	default:
		return "", ""
	}
	return u.String(), u.Host
}

// tookText is how long an exchange took.
func tookText(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
