package conform

import (
	"context"
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal"
)

func decisionCases() []testCase {
	return []testCase{
		{"decision/none yet", decisionNone},
		{"decision/long poll", decisionPoll},
		{"decision/one after the other", decisionCursor},
		{"decision/the caller gives up", decisionCancelled},
		{"decision/feed and ack", decisionFeed},
	}
}

func decisionNone(d *desk) {
	_, a, _ := d.park("k")
	for _, wait := range []time.Duration{0, 20 * time.Millisecond} {
		if r, err := d.Decision(d.Context(), a.EffectID, 0, wait); r != nil || err != nil {
			d.Errorf("wait %v: %+v, %v", wait, r, err)
		}
	}
	for _, id := range []string{journal.NewID(time.Now()), "x"} {
		if _, err := d.Decision(d.Context(), id, 0, 0); !errors.Is(err, journal.ErrNotFound) {
			d.Errorf("effect %q: %v", id, err)
		}
	}
}

func decisionPoll(d *desk) {
	r, a, f := d.park("k")
	type got struct {
		r   *journal.Resolution
		err error
	}
	answer := make(chan got, 1)
	go func() {
		r, err := d.Decision(d.Context(), a.EffectID, f.Cursor, time.Minute)
		answer <- got{r, err}
	}()
	decided := d.decide(a.EffectID, journal.VerbReissue, journal.NewKey)
	g := <-answer
	if g.err != nil || g.r == nil {
		d.Fatalf("the poll ended with %+v, %v", g.r, g.err)
	}
	if g.r.OrderExpiresAt == nil || !g.r.OrderExpiresAt.Equal(decided.Order.ExpiresAt) || g.r.Cursor != decided.AuditSeq || g.r.At.IsZero() || g.r.EffectVersion < 2 {
		d.Errorf("the resolution is %+v of decision %+v", g.r, decided)
	}
	want := journal.Resolution{ID: g.r.ID, Cursor: g.r.Cursor, EffectID: a.EffectID, EffectVersion: g.r.EffectVersion, Key: r.Key,
		Kind: journal.ResolvedReissue, By: "operator:olga", Reason: "asked the customer by phone", OrderID: decided.Order.ID,
		OrderExpiresAt: g.r.OrderExpiresAt, At: g.r.At}
	if diff := cmp.Diff(want, *g.r); diff != "" {
		d.Errorf("the resolution:\n%s", diff)
	}
}

func decisionCursor(d *desk) {
	r, a, _ := d.park("k")
	d.decide(a.EffectID, journal.VerbCloseNotLanded, "")
	d.commit(report(r, a), "m1", nil)
	first, err := d.Decision(d.Context(), a.EffectID, 0, 0)
	if err != nil || first == nil || first.Kind != journal.ResolvedNotLanded {
		d.Fatalf("the first is %+v, %v", first, err)
	}
	second, err := d.Decision(d.Context(), a.EffectID, first.Cursor, 0)
	if err != nil || second == nil || second.Kind != journal.ResolvedContradiction {
		d.Fatalf("the second is %+v, %v", second, err)
	}
	if third, err := d.Decision(d.Context(), a.EffectID, second.Cursor, 0); third != nil || err != nil {
		d.Errorf("the third is %+v, %v", third, err)
	}
}

func decisionCancelled(d *desk) {
	_, a, _ := d.park("k")
	ctx, cancel := context.WithTimeout(d.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := d.Decision(ctx, a.EffectID, 0, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		d.Errorf("the poll ended with %v, want the caller's own error", err)
	}
}

func decisionFeed(d *desk) {
	var ids []string
	for _, key := range []string{"k1", "k2", "k3"} {
		_, a, _ := d.park(key)
		d.decide(a.EffectID, journal.VerbCloseNotLanded, "")
		ids = append(ids, a.EffectID)
	}
	var got []string
	var last journal.Resolution
	for after := int64(0); ; after = last.Cursor {
		page, err := d.Decisions(d.Context(), after, 2)
		if err != nil {
			d.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		if len(page) > 2 {
			d.Fatalf("a page of %d, want at most 2", len(page))
		}
		for _, r := range page {
			got, last = append(got, r.EffectID), r
		}
	}
	if diff := cmp.Diff(ids, got); diff != "" {
		d.Errorf("the feed:\n%s", diff)
	}
	for range 2 {
		if err := d.Ack(d.Context(), last.ID); err != nil {
			d.Errorf("ack: %v", err)
		}
	}
	page, err := d.Decisions(d.Context(), last.Cursor-1, 10)
	if err != nil || len(page) != 1 || page[0].AckedAt == nil {
		d.Errorf("after the ack the feed holds %+v, %v", page, err)
	}
	if d.snap(last.EffectID).Effect.OpenDelivery {
		d.Error("the delivery is still open")
	}
	for _, id := range []string{journal.NewID(time.Now()), "x"} {
		if err := d.Ack(d.Context(), id); !errors.Is(err, journal.ErrNotFound) {
			d.Errorf("ack of %q: %v", id, err)
		}
	}
}
