package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/landedhq/landed/handlers/api/apitest"
	"github.com/landedhq/landed/journal"
)

// decided parks and closes an effect of a namespace and returns its grant and
// the id of the resolution.
func (l *line) decided(namespace string) (a got, resolution string) {
	l.Helper()
	in := fmt.Sprintf(`,"namespace":%q`, namespace)
	a = l.want(200, l.post("/effects", beginBody("k", in)))
	l.want(200, l.post(a.path("/fail"), report(a, "k", in+`,"phase":"sent"`)))
	id := fmt.Sprint(a.form["effect_id"])
	s, err := l.store.Snapshot(l.Context(), id)
	if err == nil {
		_, err = l.store.Decide(l.Context(), journal.Decision{EffectID: id, Verb: journal.VerbCloseNotLanded, Expected: s.Effect.Version, Digest: s.EvidenceDigest(),
			Actor: journal.Actor{Issuer: "i", Subject: "olga", Name: "Olga"}, Source: "page", ReasonCode: "other", Reason: "not needed any more"})
	}
	if err != nil {
		l.Fatal(err)
	}
	r, err := l.store.Decision(l.Context(), id, 0, 0)
	if err != nil || r == nil {
		l.Fatal(r, err)
	}
	return a, r.ID
}

func TestNamespaces(t *testing.T) {
	t.Parallel()
	l := open(t)
	team := l.as(apitest.Token(t, l.store, "team-a", "a", "a2"))
	own, ownDecision := l.decided("a")
	foreign, foreignDecision := l.decided("b")
	beat := fmt.Sprintf(`{"attempt":1,"lease_token":%q}`, foreign.form["lease_token"])
	handle := strings.TrimSuffix(beat, "}") + `,"kind":"draft","value":"x"}`

	team.problem(403, "forbidden", team.post("/effects", beginBody("k2", `,"namespace":"b"`)))
	team.problem(403, "forbidden", team.post("/effects", beginBody("k2", "")))
	team.problem(403, "forbidden", team.get("/effects?key=k&namespace=b"))
	team.problem(403, "forbidden", team.post(own.path("/commit"), report(own, "k", `,"namespace":"b"`)))
	team.problem(403, "forbidden", team.post(own.path("/fail"), report(own, "k", `,"phase":"sent"`)))
	for _, g := range []got{
		team.get(foreign.path("")), team.get(foreign.path("/decision")), team.post(foreign.path("/heartbeat"), beat),
		team.post(foreign.path("/handle"), handle), team.post("/decisions/"+foreignDecision+"/ack", ""),
	} {
		team.problem(404, "not_found", g)
	}
	if s, err := l.store.Snapshot(t.Context(), fmt.Sprint(foreign.form["effect_id"])); err != nil || len(s.Handles) > 0 || !s.Effect.OpenDelivery {
		t.Errorf("the foreign effect was touched: %+v, %v", s.Handles, err)
	}

	team.want(200, team.get(own.path("")))
	team.want(200, team.get("/effects?key=k&namespace=a"))
	team.want(200, team.get(own.path("/decision")))
	feed := team.want(200, team.get("/decisions"))
	if rows := feed.form["decisions"].([]any); len(rows) != 1 || rows[0].(map[string]any)["id"] != ownDecision {
		t.Errorf("the feed of the limited token is %s", feed.body)
	}
	if rows := l.want(200, l.get("/decisions")).form["decisions"].([]any); len(rows) != 2 {
		t.Errorf("the feed of the unlimited token has %d rows", len(rows))
	}
	team.want(204, team.post("/decisions/"+ownDecision+"/ack", ""))
	team.want(204, team.post("/decisions/"+ownDecision+"/ack", ""))
}

// A report is never refused over its id: one under a foreign effect's id
// becomes what it would be if that effect did not exist.
func TestNamespaces_ReportUnderAForeignID(t *testing.T) {
	t.Parallel()
	l := open(t)
	team := l.as(apitest.Token(t, l.store, "team-a", "a"))
	foreign := l.want(200, l.post("/effects", beginBody("k", `,"namespace":"b"`)))
	own := team.want(200, team.post("/effects", beginBody("k", `,"namespace":"a"`)))

	g := team.want(200, team.post(foreign.path("/commit"), report(foreign, "other", `,"namespace":"a"`)))
	if g.form["orphan"] != true || g.form["effect_id"] == foreign.form["effect_id"] {
		t.Errorf("the commit answered %s", g.body)
	}
	g = team.want(200, team.post(foreign.path("/commit"), report(foreign, "k", `,"namespace":"a"`)))
	if g.form["effect_id"] != own.form["effect_id"] {
		t.Errorf("the commit answered %s, want a late fact on the key's effect", g.body)
	}
	if s, err := l.store.Snapshot(t.Context(), fmt.Sprint(foreign.form["effect_id"])); err != nil || s.Effect.State != journal.StateIntent {
		t.Errorf("the foreign effect moved to %s, %v", s.Effect.State, err)
	}
	// The right id under a wrong key stays its own.
	own2 := team.want(200, team.post("/effects", beginBody("k2", `,"namespace":"a"`)))
	g = team.want(200, team.post(own2.path("/commit"), report(own2, "mistyped", `,"namespace":"a"`)))
	if g.form["effect_id"] != own2.form["effect_id"] || g.form["orphan"] != false {
		t.Errorf("the commit answered %s", g.body)
	}
}

func TestNamespaces_SharedTools(t *testing.T) {
	t.Parallel()
	l := open(t)
	team := l.as(apitest.Token(t, l.store, "team-a", "a"))
	team.want(204, team.put("mail.send", `{"class":"at_most_once","client_timeout":10000}`))
	team.problem(403, "forbidden", team.put("mail.send", `{"class":"at_most_once","client_timeout":20000}`))
	team.want(204, team.put("new.tool", `{"class":"read_only"}`))
	team.problem(403, "forbidden", team.put("new.tool", `{"class":"at_most_once","client_timeout":1}`))
	team.invalid("class", "is missing", team.put("mail.send", `{}`))
	l.want(204, l.put("mail.send", `{"class":"at_most_once","client_timeout":20000}`))
}
