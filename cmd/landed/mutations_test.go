package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/handlers"
	"github.com/landedhq/landed/handlers/api"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/decide"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/web"
)

// door is a login that believes a header, and a whole desk behind it.
type door struct {
	t     *testing.T
	e     *echo.Echo
	store *postgres.Store
	key   int
	bulk  string // the newest frozen set
}

const (
	doorToken  = "form-token"
	doorPerson = "Test-Person"
)

func (door) Register(*echo.Echo) {}

func (door) Middleware() echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc { return next }
}

// doorPeople are who may stand at the door.
func doorPeople() map[string]journal.Actor {
	person := func(name string, roles ...journal.Role) journal.Actor {
		return journal.Actor{Issuer: "https://idp.test", Subject: name, Name: name, Roles: roles, AuthAt: time.Now()}
	}
	commander := person("olga", journal.RoleOperator)
	commander.Groups = []string{"commanders"}
	return map[string]journal.Actor{
		"olga": commander, "anna": person("anna", journal.RoleApprover), "vera": person("vera", journal.RoleViewer),
		"axel": person("axel", journal.RoleAuditor), "adam": person("adam", journal.RoleAdmin),
	}
}

func newDoor(t *testing.T, policy func(*journal.Policy)) *door {
	t.Helper()
	p := journal.DefaultPolicy()
	if policy != nil {
		policy(&p)
	}
	s, err := postgres.Open(t.Context(), journaltest.Database(t, postgres.Migrate), postgres.Options{Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.RegisterTool(t.Context(), journal.Tool{Name: "mail.send", Class: journal.ClassAtMostOnce, Provider: "none", ClientTimeout: time.Second}); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	c := evidence.NewCollector(s, nil, nil, log)
	d := &door{t: t, store: s}
	d.e, err = handlers.New(handlers.Config{
		Journal: s, Decider: pageDecider{decide.New(s, c, log)}, Looker: pageLooker{c}, Providers: c, Login: *d, API: api.New(api.Config{Store: s, Tokens: s, Logger: log}),
		Actor: func(c echo.Context) (journal.Actor, bool) {
			who, ok := doorPeople()[c.Request().Header.Get(doorPerson)]
			return who, ok
		},
		FormToken: func(echo.Context) string { return doorToken }, FreshLogin: func(to string) string { return "/login?to=" + url.QueryEscape(to) },
		ExternalURL: "https://landed.example.org", Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// post sends a form as a person; without token if that is "".
func (d *door) post(who, token, path string, fields url.Values) *httptest.ResponseRecorder {
	form := url.Values{}
	for k, v := range fields {
		form[k] = v
	}
	if token != "" {
		form.Set(web.FieldToken, token)
	}
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set(doorPerson, who)
	w := httptest.NewRecorder()
	d.e.ServeHTTP(w, r)
	return w
}

// parked makes an effect that waits for a decision, and the form's ground.
func (d *door) parked() (id string, ground url.Values) {
	d.t.Helper()
	d.key++
	r := journal.BeginRequest{Key: "k-" + strconv.Itoa(d.key), ClaimID: journal.NewToken(), Tool: "mail.send", RootRun: "r-" + strconv.Itoa(d.key), Operation: "send", Lease: time.Minute}
	a, err := d.store.Begin(d.t.Context(), r)
	if err != nil {
		d.t.Fatal(err)
	}
	rep := journal.Report{EffectID: a.EffectID, Attempt: 1, LeaseToken: a.LeaseToken, Key: r.Key, Tool: r.Tool}
	if _, err := d.store.Fail(d.t.Context(), journal.FailRequest{Report: rep, Phase: journal.PhaseSent, Error: "lost"}); err != nil {
		d.t.Fatal(err)
	}
	return a.EffectID, d.ground(a.EffectID)
}

func (d *door) ground(id string) url.Values {
	d.t.Helper()
	s, err := d.store.Snapshot(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	v := url.Values{web.FieldVersion: {strconv.FormatInt(s.Effect.Version, 10)}, web.FieldDigest: {s.EvidenceDigest()},
		web.FieldCode: {"confirmed_by_person"}, web.FieldReason: {"asked the customer by phone"}}
	if s.Proposal != nil {
		v.Set(web.FieldProposal, s.Proposal.ID)
	}
	return v
}

func with(v url.Values, pairs ...string) url.Values {
	out := url.Values{}
	for k, x := range v {
		out[k] = x
	}
	for i := 0; i < len(pairs); i += 2 {
		out.Set(pairs[i], pairs[i+1])
	}
	return out
}

// counted are the rows that an act may write: decisions, their audit rows, all
// audit rows, deliveries.
type counted struct{ decisions, decided, audit, deliveries int }

func (d *door) count(id string) counted {
	d.t.Helper()
	var c counted
	err := d.store.Pool().QueryRow(d.t.Context(), `select (select count(*) from decisions where effect_id = $1), (select count(*) from audit where effect_id = $1 and kind like 'decided:%'),
		(select count(*) from audit where effect_id = $1), (select count(*) from deliveries where effect_id = $1)`, id).Scan(&c.decisions, &c.decided, &c.audit, &c.deliveries)
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

// mutation is one way in which a request may change the journal.
type mutation struct {
	// do prepares an effect and returns it with the request's form.
	do   func(d *door) (id string, form url.Values)
	path func(id string) string
	// onBulk is the path instead, of the set that do froze.
	onBulk func(bulk string) string
	who    string
	want   counted // what it adds
	// others may not: they get 403 and nothing is written but, perhaps, a refusal.
	others []string
}

func closing(d *door) (string, url.Values) {
	id, g := d.parked()
	return id, with(g, web.FieldChoice, "close_not_landed")
}

func formOf(pairs ...string) func(d *door) (string, url.Values) {
	return func(d *door) (string, url.Values) {
		id, _ := d.parked()
		return id, with(url.Values{}, pairs...)
	}
}

// frozen is a set to decide together, with the form that orders it.
func frozen(d *door) (string, url.Values) {
	id, g := d.parked()
	w := d.post("olga", doorToken, web.RouteBulks, url.Values{web.FieldFilter: {"tool=mail.send"}})
	at := w.Header().Get("Location")
	if w.Code != http.StatusSeeOther || !strings.HasPrefix(at, web.BulkURL("")) {
		d.t.Fatalf("freezing: %d %s", w.Code, w.Body)
	}
	d.bulk = strings.TrimPrefix(at, web.BulkURL(""))
	return id, with(g, web.FieldChoice, "close_not_landed")
}

func correcting(d *door) (string, url.Values) {
	id, g := d.parked()
	return id, with(g, web.FieldChoice, "correct", web.FieldArgs, `{"to":"ann@example.com"}`)
}

// proposed has olga propose a re-issue.
func proposed(word string) func(d *door) (string, url.Values) {
	return func(d *door) (string, url.Values) {
		id, g := d.parked()
		if w := d.post("olga", doorToken, web.DecideURL(id), with(g, web.FieldChoice, "reissue/new_key")); w.Code != http.StatusSeeOther {
			d.t.Fatalf("proposing: %d %s", w.Code, w.Body)
		}
		return id, with(d.ground(id), web.FieldWord, word)
	}
}

// mutations are all routes of the pages that are not GET, by route. A route that
// is missing here fails the test.
func mutations() map[string][]mutation {
	notOperators := []string{"vera", "axel", "adam"}
	return map[string][]mutation{
		web.RouteDecide: {
			{do: closing, path: web.DecideURL, who: "olga", want: counted{1, 1, 1, 1}, others: notOperators},
			{do: func(d *door) (string, url.Values) {
				id, g := d.parked()
				return id, with(g, web.FieldChoice, "close_landed")
			}, path: web.DecideURL, who: "anna", want: counted{1, 1, 1, 1}, others: notOperators},
			{do: func(d *door) (string, url.Values) {
				id, g := d.parked()
				return id, with(g, web.FieldChoice, "reissue/new_key")
			}, path: web.DecideURL, who: "olga", want: counted{0, 0, 1, 0}, others: notOperators}, // a proposal
			{do: correcting, path: web.DecideURL, who: "olga", want: counted{0, 0, 1, 0}, others: notOperators}, // a proposal, always
		},
		web.RouteProposal: {
			{do: proposed(web.WordApprove), path: web.ProposalURL, who: "anna", want: counted{1, 1, 1, 1}, others: notOperators},
			{do: proposed(web.WordReject), path: web.ProposalURL, who: "anna", want: counted{0, 0, 1, 0}, others: notOperators},
			{do: proposed(web.WordReject), path: web.ProposalURL, who: "olga", want: counted{0, 0, 1, 0}, others: notOperators},
		},
		web.RouteCorrect: {{do: correcting, path: web.CorrectURL, who: "olga", others: notOperators}},
		web.RouteConfirm: {{do: closing, path: web.ConfirmURL, who: "olga", others: notOperators}},
		web.RouteLook:    {{do: closing, path: web.LookURL, who: "olga", others: notOperators}},
		web.RouteAcknowledge: {{do: func(d *door) (string, url.Values) {
			id, _ := d.parked()
			d.sql("update effects set orphan = true where id = $1", id)
			return id, url.Values{web.FieldReason: {"nothing more is needed"}}
		}, path: web.AcknowledgeURL, who: "olga", want: counted{0, 0, 1, 0}, others: notOperators}},
		web.RouteRedeliver: {{do: func(d *door) (string, url.Values) {
			id, g := d.parked()
			if w := d.post("olga", doorToken, web.DecideURL(id), with(g, web.FieldChoice, "close_not_landed")); w.Code != http.StatusSeeOther {
				d.t.Fatalf("closing: %d %s", w.Code, w.Body)
			}
			d.sql("update deliveries set handover = 'refused', next_at = null where effect_id = $1", id)
			k, err := d.store.Case(d.t.Context(), id)
			if err != nil {
				d.t.Fatal(err)
			}
			return id, url.Values{web.FieldResolution: {k.Resolutions[0].ID}}
		}, path: web.RedeliverURL, who: "olga", want: counted{0, 0, 1, 0}, others: notOperators}},
		web.RouteReviews: {{do: func(d *door) (string, url.Values) {
			id, g := d.parked()
			if w := d.post("olga", doorToken, web.DecideURL(id), with(g, web.FieldChoice, "reissue/new_key", web.FieldBreakGlass, "1")); w.Code != http.StatusSeeOther {
				d.t.Fatalf("breaking the glass: %d %s", w.Code, w.Body)
			}
			open, err := d.store.Reviews(d.t.Context(), 10)
			if err != nil {
				d.t.Fatal(err)
			}
			i := slices.IndexFunc(open, func(r journal.ReviewItem) bool { return r.EffectID == id })
			return id, url.Values{web.FieldReview: {open[i].ID}, web.FieldWord: {web.WordApprove}, web.FieldReason: {"there was nobody else"}}
		}, path: func(string) string { return web.RouteReviews }, who: "anna", want: counted{0, 0, 1, 0}, others: []string{"vera", "axel", "adam", "olga"}}},
		web.RouteClaim: {{do: formOf(web.FieldWord, "take"), path: func(id string) string { return web.EffectURL(id) + "/claim" }, who: "olga", want: counted{0, 0, 1, 0}, others: notOperators}},
		web.RouteComment: {{do: func(d *door) (string, url.Values) {
			id, _ := d.parked()
			return id, url.Values{web.FieldComment: {"I called the bank"}, web.FieldComID: {journal.NewID(time.Now())}}
		}, path: func(id string) string { return web.EffectURL(id) + "/comment" }, who: "olga", want: counted{0, 0, 1, 0}, others: notOperators}},
		web.RouteSnooze: {{do: func(d *door) (string, url.Values) {
			id, g := d.parked()
			return id, with(g, web.FieldSnooze, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
		}, path: func(id string) string { return web.EffectURL(id) + "/snooze" }, who: "olga", want: counted{0, 0, 1, 0}, others: notOperators}},
		web.RoutePresence: {{do: formOf(web.FieldWindow, "0123456789abcdef0123456789abcdef"), path: func(id string) string { return web.EffectURL(id) + "/here" }, who: "olga"}},
		web.RouteBulks: {{do: func(d *door) (string, url.Values) {
			id, _ := d.parked()
			return id, url.Values{web.FieldFilter: {"tool=mail.send"}}
		}, path: func(string) string { return web.RouteBulks }, who: "olga", others: notOperators}},
		// What a bulk decides is decided later, by the runner, through the one use case.
		web.RouteBulk:        {{do: frozen, onBulk: web.BulkURL, who: "olga", others: notOperators}},
		web.RouteBulkConfirm: {{do: frozen, onBulk: web.BulkConfirmURL, who: "olga", others: notOperators}},
		web.RouteBulkStop:    {{do: frozen, onBulk: web.BulkStopURL, who: "olga", others: notOperators}},
		web.RouteProviders:   {{do: closing, path: func(string) string { return web.RouteProviders }, who: "olga"}}, // a look-up to try, of no provider
	}
}

func (d *door) sql(sql string, args ...any) {
	d.t.Helper()
	if _, err := d.store.Pool().Exec(context.WithoutCancel(d.t.Context()), sql, args...); err != nil {
		d.t.Fatal(err)
	}
}

// TestA04_EveryMutationIsRecorded walks every route that may change something:
// what it writes is counted, whoever may not gets nothing done, a form without
// its token neither, and the actor is the session's whatever the form says.
func TestA04_EveryMutationIsRecorded(t *testing.T) {
	t.Parallel()
	d := newDoor(t, func(p *journal.Policy) {
		p.Rules = []journal.Rule{{Name: "twice", Verbs: []journal.Verb{journal.VerbReissue}, FourEyes: true}}
		p.BreakGlass = []string{"commanders"}
	})
	known := mutations()
	for _, r := range d.e.Routes() {
		if r.Method == http.MethodGet || r.Method == http.MethodHead || strings.HasPrefix(r.Path, web.RouteAPI+"/") || r.Method == echo.RouteNotFound {
			continue
		}
		if known[r.Path] == nil {
			t.Errorf("%s %s may change something and is not in the table of mutations", r.Method, r.Path)
		}
	}
	for route, ms := range known {
		for i, m := range ms {
			t.Run(fmt.Sprintf("%s %d", route, i), func(t *testing.T) { d.walk(t, m) })
		}
	}
}

// walk tries one mutation in every way that must not work, then in the one that must.
func (d *door) walk(t *testing.T, m mutation) {
	one := &door{t: t, e: d.e, store: d.store, key: int(time.Now().UnixNano())}
	id, form := m.do(one)
	path := m.path
	if m.onBulk != nil {
		path = func(string) string { return m.onBulk(one.bulk) }
	}
	form.Set("actor", "operator:mallory")
	form.Set("subject", "mallory")
	form.Set("issuer", "https://evil.test")
	before := one.count(id)
	same := func(what string) {
		t.Helper()
		now := one.count(id)
		if now.decisions != before.decisions || now.deliveries != before.deliveries || now.decided != before.decided {
			t.Errorf("%s wrote %+v, before %+v", what, now, before)
		}
	}
	if w := one.post(m.who, "", path(id), form); w.Code != http.StatusForbidden {
		t.Errorf("without the form token: %d", w.Code)
	}
	same("a form without its token")
	if w := one.post("mallory", doorToken, path(id), form); w.Code != http.StatusUnauthorized {
		t.Errorf("nobody: %d", w.Code)
	}
	same("nobody")
	for _, who := range m.others {
		if w := one.post(who, doorToken, path(id), form); w.Code != http.StatusForbidden {
			t.Errorf("%s: %d", who, w.Code)
		}
		same(who)
	}
	before = one.count(id)
	w := one.post(m.who, doorToken, path(id), form)
	if w.Code >= 500 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	now := one.count(id)
	got := counted{now.decisions - before.decisions, now.decided - before.decided, now.audit - before.audit, now.deliveries - before.deliveries}
	if got != m.want {
		t.Errorf("wrote %+v, want %+v (status %d)", got, m.want, w.Code)
	}
	var forged int
	err := one.store.Pool().QueryRow(t.Context(), `select count(*) from audit where effect_id = $1 and (actor like '%mallory%' or convert_from(body, 'UTF8') like '%evil.test%')`, id).Scan(&forged)
	if err != nil || forged != 0 {
		t.Errorf("%d rows name a forged actor, %v", forged, err)
	}
}
