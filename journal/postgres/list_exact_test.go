package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
)

// TestList_FindsAnyEffectByAWholeName: a whole id, key or reference finds its
// effect wherever it is; anything less searches what needs attention.
func TestList_FindsAnyEffectByAWholeName(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	ids := map[string]string{}
	begin := func(name, namespace, key string) (journal.BeginRequest, journal.BeginAnswer) {
		r := request("mail.send", key)
		r.Namespace, r.Subject, r.RootRun, r.Labels = namespace, "about "+name, "run-"+name, map[string]string{"order": "B-" + name}
		a := d.begin(r)
		ids[a.EffectID] = name
		return r, a
	}
	done, doneAnswer := begin("done", "", "run-done/step/send")
	d.commit(done, doneAnswer, "p")
	_, live := begin("live", "", "run-live/step/send")
	r, parked := begin("parked", "", "run-parked/step/send")
	d.fail(r, parked, journal.PhaseSent, false)
	r, other := begin("other", "tenant", "run-parked/step/send")
	d.commit(r, other, "p")
	_, word := begin("word", "", "about")
	ref := journal.Ref(done.Namespace, done.Key)

	tests := []struct {
		name string
		f    journal.ListFilter
		want []string
	}{
		{"id of a committed effect", journal.ListFilter{Query: doneAnswer.EffectID}, []string{"done"}},
		{"id in capitals, with blanks around", journal.ListFilter{Query: "  " + strings.ToUpper(doneAnswer.EffectID) + "\n"}, []string{"done"}},
		{"id of a live effect", journal.ListFilter{Query: live.EffectID}, []string{"live"}},
		{"reference", journal.ListFilter{Query: ref}, []string{"done"}},
		{"reference as a provider shows it", journal.ListFilter{Query: strings.ToUpper(journal.Dashed(ref))}, []string{"done"}},
		{"key", journal.ListFilter{Query: done.Key}, []string{"done"}},
		{"key of two namespaces", journal.ListFilter{Query: r.Key}, []string{"other", "parked"}},
		{"key, narrowed to one", journal.ListFilter{Query: r.Key, Namespace: "tenant"}, []string{"other"}},
		{"key, narrowed to none", journal.ListFilter{Query: r.Key, Tool: "pay"}, nil},
		{"key that is also a common word", journal.ListFilter{Query: "about"}, []string{"parked", "word"}},
		{"part of a key", journal.ListFilter{Query: "run-done/step"}, nil},
		{"part of an id", journal.ListFilter{Query: doneAnswer.EffectID[:30]}, nil},
		{"label of an open effect", journal.ListFilter{Query: "b-PARKED"}, []string{"parked"}},
		{"label of a committed effect", journal.ListFilter{Query: "B-done"}, nil},
		{"word of every open effect", journal.ListFilter{Query: "ABOUT "}, []string{"parked"}},
		{"what no column can hold", journal.ListFilter{Query: "a\x00b\xff", Tool: "\x00"}, nil},
		{"no column at all", journal.ListFilter{Namespace: "\xff"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := names(t, d, ids, tt.f)
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("leads the first page", func(t *testing.T) {
		first, err := d.List(t.Context(), journal.ListFilter{Query: "about", Limit: 1})
		if err != nil || len(first.Rows) == 0 || first.Rows[0].Effect.ID != word.EffectID {
			t.Fatalf("first page: %d rows, %v", len(first.Rows), err)
		}
	})
}

// attentionRule is the rule of the list in one piece: everything but a live
// INTENT, one that waits for its retry within the grace period, and what is
// settled. The store splits it over a generated column and two kinds of index.
const attentionRule = `((e.state in ('INTENT', 'PARKED', 'REISSUE') or e.open_delivery or e.contradicted or e.probably_double or e.orphan)
	and not (e.state = 'INTENT' and e.fenced_at is null and coalesce(e.lease_until > clock_timestamp() and e.attempt_deadline > clock_timestamp(), false))
	and not (e.state = 'INTENT' and e.fenced_at is not null and not e.gave_up
		and coalesce(e.retry_at + interval '60 s' > clock_timestamp(), false))
	or e.state in ('COMMITTED', 'REJECTED', 'ABANDONED') and coalesce(e.next_look_at <= clock_timestamp(), false))`

// everyRow holds one effect for each way in which a row can look to the rule.
const everyRow = `insert into effects (id, key, ref, tool, class, client_timeout_ms, root_run, operation, fingerprint, fingerprint_rule, created_at, state_at,
	state, parked_reason, settled_by, fenced_at, gave_up, retry_at, open_delivery, contradicted, probably_double, orphan, next_look_at,
	granted_at, send_by, lease_until, attempt_deadline, lease_token)
select (lpad(to_hex(n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, 'k' || n, md5(n::text), 'mail.send', 'at_most_once', 1, 'r', 'o', 'f', 1,
	now() - n * interval '1 s', now(), state, case when state = 'PARKED' then 'x' else '' end, case when state in ('COMMITTED', 'REJECTED', 'ABANDONED') then 'x' else '' end,
	case when fenced then now() end, gave_up, now() + retry * interval '1 min', flag = 1, flag = 2, flag = 3, flag = 4, now() + look * interval '1 min',
	now(), now() + least(lease, deadline, 0) * interval '1 min', now() + lease * interval '1 min', now() + deadline * interval '1 min', md5(n::text)
from (select row_number() over () as n, * from
	unnest(array['INTENT', 'PARKED', 'REISSUE', 'COMMITTED', 'REJECTED', 'ABANDONED']) state, unnest(array[true, false]) fenced, unnest(array[true, false]) gave_up,
	unnest(array[null, -5, -0.5, 5]) retry, generate_series(0, 4) flag, unnest(array[null, -5, 5]) look, unnest(array[-5, 5]) lease, unnest(array[-4, 6]) deadline
	where (state = 'INTENT' or fenced) and (state <> 'INTENT' or not gave_up or fenced)) x`

// TestList_HoldsExactlyTheRule compares the list with the rule for every row
// there can be, absent times among them, and its totals with its rows.
func TestList_HoldsExactlyTheRule(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.exec(everyRow)
	rows, err := d.Pool().Query(t.Context(), "select e.id from effects e where "+attentionRule+" order by e.created_at, e.id")
	if err != nil {
		t.Fatal(err)
	}
	want, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	all := d.count("select count(*) from effects")
	if len(want) < 500 || all-len(want) < 100 {
		t.Fatalf("the rule holds for %d of %d rows: too few to tell", len(want), all)
	}
	if n := d.count("select count(*) from effects where (attention_at is null) <> (search_text is null)"); n != 0 {
		t.Errorf("%d effects are open without a text to search, or the other way round", n)
	}
	for _, newest := range []bool{false, true} {
		var got []string
		f := journal.ListFilter{Limit: 200, Newest: newest}
		for {
			page, err := d.List(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			if page.Total != len(want) {
				t.Errorf("total %d, want %d", page.Total, len(want))
			}
			for _, s := range page.Rows {
				got = append(got, s.Effect.ID)
			}
			if f.After = page.Next; f.After == "" {
				break
			}
		}
		if newest {
			slices.Reverse(got)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("newest %v (-want +got):\n%s", newest, diff)
		}
	}
	for _, state := range []journal.State{journal.StateIntent, journal.StateParked, journal.StateReissue, journal.StateCommitted, journal.StateRejected, journal.StateAbandoned} {
		page, err := d.List(t.Context(), journal.ListFilter{State: state})
		n := d.count("select count(*) from effects e where e.state = $1 and ("+attentionRule+")", state)
		if err != nil || page.Total != n {
			t.Errorf("%s: total %d (%v), want %d", state, page.Total, err, n)
		}
		in := d.count("select count(*) from effects e where e.root_run = 'r' and e.state = $1 and ("+attentionRule+")", state)
		if page, err = d.List(t.Context(), journal.ListFilter{State: state, RootRun: "r"}); err != nil || page.Total != in {
			t.Errorf("%s of a root run: total %d (%v), want %d", state, page.Total, err, in)
		}
	}
}

// TestOwnedHasTimes: an owned effect without its times, or with a lease that
// ends before send_by, would be seen by nobody: the database refuses it.
func TestOwnedHasTimes(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	a := d.begin(request("mail.send", "k"))
	for _, set := range []string{"lease_until = null", "send_by = null", "attempt_deadline = null", "lease_until = send_by - interval '1 ms'"} {
		if _, err := d.Pool().Exec(t.Context(), "update effects set "+set+" where id = $1", a.EffectID); err == nil || !strings.Contains(err.Error(), "effects_owned_has_times") {
			t.Errorf("%s: %v", set, err)
		}
	}
}

// TestMigrate_WithoutTrigrams: where pg_trgm can't be installed the journal works
// and searches without its index; where it lives in another schema it is used.
func TestMigrate_WithoutTrigrams(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, before, want string }{
		{"refused", `create function no() returns event_trigger language plpgsql as 'begin raise exception ''no''; end';
			create event trigger no on ddl_command_start when tag in ('CREATE EXTENSION') execute function no()`, "0"},
		{"in another schema", "create schema ext; create extension pg_trgm schema ext", "1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dsn := journaltest.Database(t, nil)
			c, err := pgx.Connect(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close(context.Background()) }()
			if _, err := c.Exec(t.Context(), tt.before); err != nil {
				if strings.Contains(err.Error(), "pg_trgm") {
					journaltest.Missing(t, "pg_trgm", "apt-get install postgresql-contrib")
				}
				t.Fatal(err)
			}
			if err := postgres.Migrate(t.Context(), dsn); err != nil {
				t.Fatal(err)
			}
			s, err := postgres.Open(t.Context(), dsn, postgres.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			d := &desk{Store: s, t: t, dsn: dsn}
			if n := d.count("select count(*) from pg_indexes where indexname = 'effects_open_text'"); fmt.Sprint(n) != tt.want {
				t.Errorf("%d trigram indexes, want %s", n, tt.want)
			}
			if err := d.RegisterTool(t.Context(), journal.Tool{Name: "mail.send", Class: journal.ClassAtMostOnce, ClientTimeout: time.Second}); err != nil {
				t.Fatal(err)
			}
			r := request("mail.send", "k")
			r.Subject = "Quarterly figures"
			a := d.begin(r)
			d.fail(r, a, journal.PhaseSent, false)
			if got := names(t, d, map[string]string{a.EffectID: "it"}, journal.ListFilter{Query: "ARTERLY fig"}); !slices.Equal(got, []string{"it"}) {
				t.Errorf("found %v", got)
			}
		})
	}
}

// TestOwnedIndexStaysSmall: every effect passes through effects_owned; what the
// sweeper met dead makes room for what comes, without any vacuum. Not parallel:
// while another test writes, nothing newer than its transaction counts as dead.
func TestOwnedIndexStaysSmall(t *testing.T) {
	d := openDesk(t)
	d.exec("alter table effects set (autovacuum_enabled = off)")
	const rounds, each = 25, 2000
	for round := range rounds {
		d.exec(`insert into effects (id, key, ref, tool, class, client_timeout_ms, root_run, operation, fingerprint, fingerprint_rule, created_at, state_at, state,
				granted_at, send_by, lease_until, attempt_deadline, lease_token)
			select gen_random_uuid(), $1::int || '/' || n, md5(n::text), 'mail.send', 'at_most_once', 1, 'r', 'o', 'f', 1, now(), now(), 'INTENT',
				now(), now() - interval '1 min', now() + interval '1 min', now() + interval '1 min', md5(random()::text) from generate_series(1, $2::int) n;
			update effects set state = 'COMMITTED', settled_by = 'worker', fenced_at = now(), version = 2 where state = 'INTENT'`, round, each)
		if _, err := d.Sweep(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
	}
	// 36 bytes an entry; a page is split in halves, so twice that.
	if size, most := d.count("select pg_relation_size('effects_owned')"), 4*each*36; size > most {
		t.Errorf("effects_owned has %d bytes after %d effects, want at most %d", size, rounds*each, most)
	}
}

// TestCounts_OfManyAreAtMostTwoSecondsOld: up to a thousand, counts are exact at
// once; beyond, they follow within two seconds.
func TestCounts_OfManyAreAtMostTwoSecondsOld(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	total := func() int {
		page, err := d.List(t.Context(), journal.ListFilter{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		return page.Total
	}
	d.exec(everyRow + "; delete from effects where id in (select id from effects where attention_at is not null order by id offset 900)")
	open := total()
	if open < 500 || open > 950 {
		t.Fatalf("%d effects need attention", open)
	}
	park := func(name string) {
		r := request("mail.send", name)
		r.RootRun = name
		d.fail(r, d.begin(r), journal.PhaseSent, false)
	}
	park("exact")
	if got := total(); got != open+1 {
		t.Errorf("total %d, want %d at once", got, open+1)
	}
	for i := open + 1; i <= 1001; i++ {
		park(fmt.Sprintf("more-%d", i))
	}
	want := d.count("select count(*) from effects e where " + attentionRule)
	for deadline := time.Now().Add(3 * time.Second); total() != want; {
		if time.Now().After(deadline) {
			t.Fatalf("total %d, want %d within two seconds", total(), want)
		}
	}
}
