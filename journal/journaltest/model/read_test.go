package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/landedhq/landed/journal"
)

// read lets everybody look at everything: what they see must be what the model
// holds, the list exactly what needs attention, and nothing may be written
// (invariant 8).
func (p *player) read(ctx context.Context) string {
	list, err := p.store.List(ctx, journal.ListFilter{})
	if err != nil {
		return err.Error()
	}
	if s := p.listDiffers(list); s != "" {
		return s
	}
	for key, id := range p.ids {
		if s := p.readOne(ctx, key, id); s != "" {
			return s
		}
	}
	if _, err := p.store.AuditRows(ctx, 0, 20); err != nil {
		return err.Error()
	}
	if _, err := p.store.Decisions(ctx, 0, 20); err != nil {
		return err.Error()
	}
	again, err := readDump(ctx, p.store.Pool())
	switch {
	case err != nil:
		return err.Error()
	case again.raw != p.last.raw:
		return "reading changed the journal (invariant 8)"
	}
	return ""
}

func (p *player) listDiffers(list journal.ListPage) string {
	var shown []string
	for _, s := range list.Rows {
		shown = append(shown, s.Effect.ID)
	}
	justNow := false // a look comes due while the list is read
	for key, e := range p.w.effects {
		r, _ := p.last.of(key)
		due := r.NextLookAt != nil && r.NextLookAt.Before(list.Now)
		if r.NextLookAt != nil && r.NextLookAt.Sub(list.Now).Abs() < time.Second && e.closed() {
			justNow = true
			continue
		}
		if want := e.attention(p.w.now, due); slices.Contains(shown, p.ids[key]) != want {
			return fmt.Sprintf("effect %s (%s): on the list is %v, needs attention is %v (invariant 8)", key, e.state, !want, want)
		}
	}
	if list.Total != len(shown) && !justNow {
		return fmt.Sprintf("the list counts %d and shows %d", list.Total, len(shown))
	}
	return ""
}

func (p *player) readOne(ctx context.Context, key, id string) string {
	c, err := p.store.Case(ctx, id)
	if err != nil {
		return err.Error()
	}
	e := p.w.effects[key]
	if string(c.Effect.State) != e.state || len(c.Attempts) != len(e.attempts) || len(c.Evidence) != len(e.looks) ||
		len(c.Decisions) != e.decisions || len(c.Resolutions) != len(e.deliveries) {
		return fmt.Sprintf("the page of %s shows %s with %d attempts, %d looks, %d decisions, %d resolutions", key, c.Effect.State,
			len(c.Attempts), len(c.Evidence), len(c.Decisions), len(c.Resolutions))
	}
	w, err := p.client.EffectByKey(ctx, "", key)
	if err != nil || string(w.State) != e.state || len(w.Attempts) != len(e.attempts) {
		return fmt.Sprintf("the worker API shows %s of %s with %d attempts: %v", w.State, key, len(w.Attempts), err)
	}
	if _, err := p.client.Effect(ctx, id); err != nil {
		return err.Error()
	}
	r, err := p.client.Decision(ctx, id, 0, 0)
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return err.Error()
	}
	if (r != nil) != (len(e.deliveries) > 0) {
		return fmt.Sprintf("/decision of %s answers %+v, there are %d resolutions", key, r, len(e.deliveries))
	}
	return ""
}
