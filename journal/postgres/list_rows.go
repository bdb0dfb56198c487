package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres/internal/sqlc"
)

// rowColumns name an effect of the list, and which row of it was seen.
const rowColumns = "e.id, e.created_at, e.version, e.xmin as seen"

// withTeam adds to rows of rowColumns what people have beside them, for
// readListed, and more columns behind that. Rows that are known to be awake are
// not looked up among what is snoozed. Plan: one look by primary key or by
// comments_effect for each row.
func withTeam(rows string, awake bool, more ...string) string {
	columns := []string{`select n.id, n.created_at, n.version, n.seen, (select count(*) from comments m where m.effect_id = n.id)::integer,
		k.id, coalesce(k.issuer, ''), coalesce(k.subject, ''), coalesce(k.name, ''), k.since, k.until`}
	from := fmt.Sprintf(" from (%s) n left join claims k on k.effect_id = n.id and k.until > (select clock_timestamp())", rows)
	if awake {
		columns = append(columns, "null::timestamptz, '', '', ''")
	} else {
		columns = append(columns, "z.until, coalesce(z.issuer, ''), coalesce(z.subject, ''), coalesce(z.name, '')")
		from += " left join snoozes z on z.effect_id = n.id and z.until > (select clock_timestamp())"
	}
	return strings.Join(append(columns, more...), ", ") + from
}

// listedRow is a row of the list before its effect was read: which effect it is,
// which row of it was seen, and what people have beside it.
type listedRow struct {
	id      string
	created time.Time
	row     rowID

	comments                             int
	claimID                              *string
	issuer, subject, name                string
	since, until, asleepUntil            *time.Time
	sleeperIssuer, sleeper, sleeperNamed string
}

// rowID tells one row of an effect from every other that the effect had: its
// version, which every transition raises together with what it writes beside the
// effect, and the transaction that wrote the row, since leases and due looks move
// without a transition. A transaction's number comes again after four billion.
type rowID struct {
	version int64
	xmin    uint32
}

func (r *listedRow) targets() []any {
	return []any{&r.id, &r.created, &r.row.version, &r.row.xmin, &r.comments, &r.claimID, &r.issuer, &r.subject, &r.name, &r.since, &r.until,
		&r.asleepUntil, &r.sleeperIssuer, &r.sleeper, &r.sleeperNamed}
}

// readListed reads what withTeam selects, and more columns behind it.
func readListed(ctx context.Context, sql string, args []any, into *[]listedRow, more ...any) func(sqlc.DBTX) error {
	return func(db sqlc.DBTX) error {
		rows, err := db.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		var r listedRow
		_, err = pgx.ForEachRow(rows, append(r.targets(), more...), func() error {
			*into = append(*into, r)
			return nil
		})
		return err
	}
}

// marksOf collects what people have beside the rows of a page.
func marksOf(rows []listedRow) map[string]journal.TeamMark {
	out := make(map[string]journal.TeamMark, len(rows))
	for _, r := range rows {
		m := journal.TeamMark{Comments: r.comments}
		if r.claimID != nil && r.until != nil {
			m.Claim = &journal.Claim{ID: *r.claimID, Holder: journal.Actor{Issuer: r.issuer, Subject: r.subject, Name: r.name},
				Since: timeOf(r.since), Until: *r.until}
		}
		if r.asleepUntil != nil {
			m.Snooze = &journal.Snooze{Until: *r.asleepUntil, Actor: journal.Actor{Issuer: r.sleeperIssuer, Subject: r.sleeper, Name: r.sleeperNamed}}
		}
		if m != (journal.TeamMark{}) {
			out[r.id] = m
		}
	}
	return out
}

func idsOf(rows []listedRow) []string {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].id
	}
	return ids
}
