package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
)

func person(name string, roles ...journal.Role) journal.Actor {
	if len(roles) == 0 {
		roles = []journal.Role{journal.RoleOperator}
	}
	return journal.Actor{Issuer: "https://idp.test", Subject: strings.ToLower(name), Name: name, Roles: roles}
}

// signIn makes a person known, as a login does.
func (d *desk) signIn(who journal.Actor) {
	d.t.Helper()
	if err := d.RecordAccess(d.t.Context(), "login", who, time.Now(), ""); err != nil {
		d.t.Fatal(err)
	}
}

// parked begins an effect that comes to wait for a person.
func (d *desk) parked(tool, key string) string {
	d.t.Helper()
	r := request(tool, key)
	r.Subject = key
	a := d.begin(r)
	d.fail(r, a, journal.PhaseSent, false)
	return a.EffectID
}

func (d *desk) claim(o journal.ClaimOrder) *journal.Claim {
	d.t.Helper()
	c, err := d.Claim(d.t.Context(), o)
	if err != nil {
		d.t.Fatalf("%s by %s: %v", o.Verb, o.Actor.Name, err)
	}
	return c
}

func take(id string, who journal.Actor) journal.ClaimOrder {
	return journal.ClaimOrder{EffectID: id, Verb: journal.ClaimTake, Actor: who}
}

func (d *desk) team(id string) journal.Team {
	d.t.Helper()
	k, err := d.Case(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return k.Team
}

func (d *desk) kinds(id string) []string {
	d.t.Helper()
	k, err := d.Case(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	var out []string
	for _, e := range k.Events {
		out = append(out, e.Kind)
	}
	return out
}

func (d *desk) teamAudit(id, kind string) int {
	d.t.Helper()
	return d.count("select count(*) from audit where effect_id = $1 and kind = $2", id, kind)
}

// endClaim lets a claim's time pass.
func (d *desk) endClaim(id string) {
	d.t.Helper()
	d.exec("update claims set since = since - interval '1 hour', until = until - interval '1 hour' where effect_id = $1", id)
}

var olivia, pia = person("Olivia"), person("Pia")

// TestD02_TwoClaimsAtOnce: of several who take an effect at once one gets it, and
// every other learns who.
func TestD02_TwoClaimsAtOnce(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	for round := range 10 {
		id := d.parked("mail.send", fmt.Sprintf("effect-%d", round))
		var mu sync.Mutex
		var winners, told []string
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				who := person(fmt.Sprintf("P%d", i))
				_, err := d.Claim(t.Context(), take(id, who))
				mu.Lock()
				defer mu.Unlock()
				var ce *journal.ClaimedError
				switch {
				case err == nil:
					winners = append(winners, who.Name)
				case errors.As(err, &ce):
					told = append(told, ce.Holder.Name)
				default:
					t.Errorf("%s: %v", who.Name, err)
				}
			})
		}
		wg.Wait()
		if len(winners) != 1 || len(told) != 5 {
			t.Fatalf("round %d: winners %v, told %v", round, winners, told)
		}
		for _, name := range told {
			if name != winners[0] {
				t.Errorf("round %d: %s got it, somebody was told %s", round, winners[0], name)
			}
		}
		if n := d.teamAudit(id, journal.EventClaimed); n != 1 {
			t.Errorf("round %d: %d audit rows", round, n)
		}
	}
}

// TestD01_ClaimTwice: a second click renews, and is no second event.
func TestD01_ClaimTwice(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	id := d.parked("mail.send", "twice")
	first := d.claim(take(id, olivia))
	second := d.claim(take(id, olivia))
	if first.ID != second.ID || second.Until.Before(first.Until) {
		t.Errorf("first %+v, second %+v", first, second)
	}
	if n := len(slices.DeleteFunc(d.kinds(id), func(k string) bool { return k != journal.EventClaimed })); n != 1 {
		t.Errorf("%d events", n)
	}
	if d.teamAudit(id, journal.EventClaimRenewed) != 1 {
		t.Error("the renewal by button left no audit row")
	}
}

func TestClaim_Life(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	viewer := person("Vera", journal.RoleViewer)
	for _, who := range []journal.Actor{olivia, pia, viewer} {
		d.signIn(who)
	}
	id := d.parked("mail.send", "life")
	refused := func(what string, o journal.ClaimOrder) {
		t.Helper()
		if c, err := d.Claim(t.Context(), o); err == nil {
			t.Errorf("%s: got %+v", what, c)
		}
	}
	held := func(who journal.Actor) {
		t.Helper()
		if c := d.team(id).Claim; !c.Open(d.snap(id).Now) || !c.Holder.Same(who) {
			t.Errorf("held by %+v, want %s", c, who.Name)
		}
	}
	refused("a viewer takes it", take(id, viewer))
	refused("release of nothing", journal.ClaimOrder{EffectID: id, Verb: journal.ClaimRelease, Actor: olivia})
	d.claim(take(id, olivia))
	held(olivia)
	refused("release by another", journal.ClaimOrder{EffectID: id, Verb: journal.ClaimRelease, Actor: pia})
	hand := journal.ClaimOrder{EffectID: id, Verb: journal.ClaimHandOver, Actor: olivia, To: person("Nobody")}
	refused("to somebody who never signed in", hand)
	hand.To = viewer
	refused("to somebody who may not act", hand)
	hand.To = journal.Actor{Issuer: pia.Issuer, Subject: pia.Subject}
	d.claim(hand)
	held(pia)
	if c := d.team(id).Claim; c.By.Name != "Olivia" || c.Holder.Name != "Pia" {
		t.Errorf("handed over: %+v", c)
	}
	over := journal.ClaimOrder{EffectID: id, Verb: journal.ClaimTakeOver, Actor: olivia, Seen: d.team(id).Claim.ID}
	refused("taking over without a reason", over)
	over.Reason = "Pia is at lunch"
	d.claim(over)
	held(olivia)
	over.Actor = pia // saw her own claim, which is over
	refused("taking over from somebody whom the person never saw", over)
	d.endClaim(id)
	d.claim(take(id, pia))
	held(pia)
	if got := d.claim(journal.ClaimOrder{EffectID: id, Verb: journal.ClaimRelease, Actor: pia}); got != nil {
		t.Errorf("released: %+v", got)
	}
	if c := d.team(id).Claim; c != nil {
		t.Errorf("left: %+v", c)
	}
	want := []string{journal.EventClaimed, journal.EventHandedOver, journal.EventTakenOver, journal.EventClaimed, journal.EventReleased}
	got := slices.DeleteFunc(d.kinds(id), func(k string) bool { return !strings.HasPrefix(k, "claim") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for _, kind := range want {
		if d.teamAudit(id, kind) == 0 {
			t.Errorf("no audit row of kind %s", kind)
		}
	}
	if _, err := d.VerifyAudit(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestClaim_RenewedByActing: acting keeps a claim, and revives none.
func TestClaim_RenewedByActing(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	id := d.parked("mail.send", "acting")
	first := d.claim(take(id, olivia))
	d.exec("update claims set since = since - interval '20 min', until = until - interval '20 min' where effect_id = $1", id)
	renew := func(who journal.Actor) time.Time {
		t.Helper()
		if err := d.RenewClaim(t.Context(), id, who); err != nil {
			t.Fatal(err)
		}
		return d.team(id).Claim.Until
	}
	if got := renew(pia); !got.Before(first.Until) {
		t.Error("another person's act renewed it")
	}
	if got := renew(olivia); got.Before(first.Until) {
		t.Errorf("until %v, not renewed from %v", got, first.Until)
	}
	d.endClaim(id)
	over := d.team(id).Claim.Until
	if got := renew(olivia); !got.Equal(over) {
		t.Error("a claim that is over was revived")
	}
}

// TestClaim_ForbidsNothing: another person decides all the same.
func TestClaim_ForbidsNothing(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	id := d.parked("mail.send", "held")
	version := d.snap(id).Effect.Version
	d.claim(take(id, olivia))
	if got := d.snap(id).Effect.Version; got != version {
		t.Errorf("a claim made others' forms stale: version %d, was %d", got, version)
	}
	d.decide(id, journal.VerbCloseLanded, "") // by Olga
	if err := d.Ack(t.Context(), d.snap(id).Newest.ID); err != nil {
		t.Fatal(err)
	}
	d.endClaim(id)
	if _, err := d.Claim(t.Context(), take(id, olivia)); err == nil {
		t.Error("an effect that needs nothing was taken")
	}
}
