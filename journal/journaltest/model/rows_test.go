package model

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/landedhq/landed/journal/audit"
)

// dump is every row of a story, read past the store in one statement, and the
// bytes that it was read from: two equal dumps mean that nothing was written.
type dump struct {
	raw        string
	now        time.Time
	Effects    []effectRow
	Attempts   []attemptRow
	Orders     []orderRow
	Evidence   []evidenceRow
	Decisions  []decisionRow
	Deliveries []deliveryRow
	Audit      []auditRow
	Events     []eventRow
	Budgets    []struct{ Spent int }
}

type effectRow struct {
	ID, Key, State, Class string
	Version               int64
	Issue, Attempt        int
	Cleared               int    `json:"cleared_attempt"`
	ProviderID            string `json:"provider_id"`
	SettledBy             string `json:"settled_by"`
	Contradicted          bool
	ProbablyDouble        bool       `json:"probably_double"`
	GaveUp                bool       `json:"gave_up"`
	OpenDelivery          bool       `json:"open_delivery"`
	NextLookAt            *time.Time `json:"next_look_at"`
	RetryAt               *time.Time `json:"retry_at"`
	ClaimID               string     `json:"claim_id"`
	OrderID               *string    `json:"order_id"`
	GrantedAt             time.Time  `json:"granted_at"`
	LeaseUntil            time.Time  `json:"lease_until"`
	SendBy                time.Time  `json:"send_by"`
	Deadline              time.Time  `json:"attempt_deadline"`
	FencedAt              *time.Time `json:"fenced_at"`
}

type attemptRow struct {
	EffectID      string `json:"effect_id"`
	Number, Issue int
	OrderID       *string    `json:"order_id"`
	GrantedAt     time.Time  `json:"granted_at"`
	SendBy        time.Time  `json:"send_by"`
	FencedAt      *time.Time `json:"fenced_at"`
	Phase         string
	Final         bool
	ProviderID    string `json:"provider_id"`
}

type orderRow struct {
	ID, Mode, Ended string
	EffectID        string `json:"effect_id"`
	Issue, Attempt  int
	KnownUpTo       int64     `json:"known_up_to"`
	ExpiresAt       time.Time `json:"expires_at"`
}

type evidenceRow struct {
	ID, Verdict, Digest string
	Reason              string
	Seq                 int64
	EffectID            string `json:"effect_id"`
	Covers              int    `json:"covers_attempt"`
}

type decisionRow struct {
	ID, Verb string
	EffectID string `json:"effect_id"`
	Version  int64  `json:"effect_version"`
	AuditSeq int64  `json:"audit_seq"`
}

type deliveryRow struct {
	ID, Kind string
	EffectID string     `json:"effect_id"`
	AuditSeq int64      `json:"audit_seq"`
	AckedAt  *time.Time `json:"acked_at"`
}

type auditRow struct {
	Seq      int64
	Kind     string
	EffectID string `json:"effect_id"`
}

type eventRow struct {
	Seq      int64
	Kind     string
	EffectID string `json:"effect_id"`
}

// dumpSQL reads all rows that transitions write. Sequence numbers order them.
const dumpSQL = `select clock_timestamp(), jsonb_build_object(
	'Effects', (select coalesce(jsonb_agg(to_jsonb(e) - 'args' order by e.id), '[]') from effects e),
	'Attempts', (select coalesce(jsonb_agg(to_jsonb(a) order by a.effect_id, a.number), '[]') from attempts a),
	'Orders', (select coalesce(jsonb_agg(to_jsonb(o) order by o.id), '[]') from orders o),
	'Evidence', (select coalesce(jsonb_agg(to_jsonb(v) - 'body' || jsonb_build_object('body_md5', md5(v.body)) order by v.seq), '[]') from evidence v),
	'Decisions', (select coalesce(jsonb_agg(to_jsonb(d) order by d.audit_seq), '[]') from decisions d),
	'Deliveries', (select coalesce(jsonb_agg(to_jsonb(d) order by d.audit_seq), '[]') from deliveries d),
	'Audit', (select coalesce(jsonb_agg(jsonb_build_object('seq', u.seq, 'kind', u.kind, 'effect_id', u.effect_id) order by u.seq), '[]')
		from audit u where u.effect_id in (select e.id from effects e)),
	'Events', (select coalesce(jsonb_agg(jsonb_build_object('seq', v.seq, 'kind', v.kind, 'effect_id', v.effect_id) order by v.seq), '[]') from events v),
	'Budgets', (select coalesce(jsonb_agg(to_jsonb(b)), '[]') from budgets b),
	'Head', (select seq from audit_head),
	'Others', (select jsonb_build_array((select count(*) from handles), (select count(*) from alerts), (select count(*) from tombstones), (select count(*) from tools))))::text`

func readDump(ctx context.Context, pool *pgxpool.Pool) (*dump, error) {
	d := &dump{}
	if err := pool.QueryRow(ctx, dumpSQL).Scan(&d.now, &d.raw); err != nil {
		return nil, fmt.Errorf("reading all rows: %w", err)
	}
	if err := json.Unmarshal([]byte(d.raw), d); err != nil {
		return nil, fmt.Errorf("reading all rows: %w", err)
	}
	return d, nil
}

// wipeSQL ends a story. The audit trail stays: its chain goes on.
func wipeSQL() []string {
	out := []string{"set session_replication_role = replica"}
	for _, t := range []string{"effects", "attempts", "handles", "orders", "events", "evidence", "decisions", "deliveries", "budgets", "tombstones"} {
		out = append(out, "delete from "+t)
	}
	return out
}

// passSQL lets $1 go by, by moving everything that the journal knows back.
func passSQL() []string {
	back := func(table string, columns ...string) string {
		s := "update " + table + " set "
		for i, c := range columns {
			if i > 0 {
				s += ", "
			}
			s += c + " = " + c + " - $1::interval"
		}
		return s
	}
	attempt := []string{"granted_at", "lease_until", "send_by", "attempt_deadline", "fenced_at"}
	return []string{
		back("effects", append([]string{"created_at", "state_at", "retry_at", "next_look_at"}, attempt...)...),
		back("attempts", attempt...),
		back("evidence", "started_at", "finished_at", "look_again_at"),
		back("orders", "created_at", "expires_at"),
	}
}

// chain checks the audit trail as it grows.
type chain struct {
	seq  int64
	hash []byte
}

func (c *chain) follow(ctx context.Context, pool *pgxpool.Pool) error {
	rows, err := pool.Query(ctx, "select seq, at, kind, coalesce(effect_id::text, '') as effect_id, actor, salt, body, hash from audit where seq > $1 order by seq", c.seq)
	if err != nil {
		return fmt.Errorf("reading the audit trail: %w", err)
	}
	fresh, err := pgx.CollectRows(rows, pgx.RowToStructByName[audit.Row])
	if err != nil {
		return fmt.Errorf("reading the audit trail: %w", err)
	}
	if len(fresh) == 0 {
		return nil
	}
	if c.hash, err = audit.Verify(c.seq, c.hash, fresh); err != nil {
		return err
	}
	c.seq = fresh[len(fresh)-1].Seq
	return nil
}
