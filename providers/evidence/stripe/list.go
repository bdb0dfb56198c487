package stripe

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence/egress"
)

const (
	perPage = 100 // the most that Stripe gives
	// maxIssues bounds the issue numbers whose keys are looked for among events:
	// each order of an operator adds one.
	maxIssues = 20
	// shownRows caps the objects of a page that evidence keeps.
	shownRows = 25
)

// window is the query's in Stripe's resolution, whole seconds, widened outwards.
func (l *look) window() (from, to int64) {
	return l.q.From.Unix(), l.q.To.Add(time.Second - 1).Unix()
}

// windowQuery asks for what was created in the window.
func (l *look) windowQuery() url.Values {
	from, to := l.window()
	return url.Values{"limit": {strconv.Itoa(perPage)}, "created[gte]": {strconv.FormatInt(from, 10)}, "created[lte]": {strconv.FormatInt(to, 10)}}
}

// inWindow reports whether the filter was honoured for a row, and counts if not.
func (l *look) inWindow(created int64) bool {
	from, to := l.window()
	if created >= from && created <= to {
		return true
	}
	l.ans.Unrelated++
	return false
}

// list reads every object created in the window and compares its metadata here:
// Stripe's lists have no filter for it.
func (l *look) list(ctx context.Context) error {
	var hits []string
	complete, err := pages(ctx, l, l.s.a.kind.path, l.windowQuery(), func(o object) (string, error) {
		if !l.s.a.kind.owns(o.ID) || o.Object != l.s.a.kind.object {
			return "", bad("Stripe's list holds a row that is no " + l.s.a.kind.object)
		}
		if l.inWindow(o.Created) && l.ofMode(o.Livemode) && o.Metadata[l.s.a.cfg.MetadataKey] == l.q.Ref {
			hits = append(hits, o.ID)
		}
		return o.ID, nil
	}, func(o object) string { return o.summary(l.s.a.cfg.MetadataKey) })
	if err != nil {
		return err
	}
	l.ans.AllPagesRead = complete
	for _, id := range hits {
		if err := l.again(ctx, id, ""); err != nil {
			return err
		}
	}
	return nil
}

// events looks for the effect's own Idempotency-Key among the requests that
// caused events: that finds an object whose metadata were never set.
func (l *look) events(ctx context.Context) error {
	if len(l.s.a.kind.events) == 0 || time.Since(l.q.From) > eventsKept {
		return nil
	}
	keys := map[string]int{}
	for issue := 1; issue <= maxIssues; issue++ {
		keys[journal.ProviderKey(l.q.Ref, issue)] = issue
	}
	query := l.windowQuery()
	for i, name := range l.s.a.kind.events {
		query.Set("types["+strconv.Itoa(i)+"]", name)
	}
	hits := map[string]int{}
	var order []string
	complete, err := pages(ctx, l, "events", query, func(e event) (string, error) {
		if !strings.HasPrefix(e.ID, "evt_") || e.Object != "event" {
			return "", bad("Stripe's list holds a row that is no event")
		}
		switch {
		case !slices.Contains(l.s.a.kind.events, e.Type):
			l.ans.Unrelated++ // the filter for types was not honoured
			return e.ID, nil
		case !l.inWindow(e.Created) || !l.ofMode(e.Livemode) || e.Request == nil:
			return e.ID, nil
		}
		id := e.Data.Object.ID
		if issue := keys[e.Request.IdempotencyKey]; issue > 0 && l.s.a.kind.owns(id) && hits[id] == 0 {
			hits[id] = issue
			order = append(order, id)
		}
		return e.ID, nil
	}, func(e event) string { return fmt.Sprintf("%.80s %.60s %.80s", e.ID, e.Type, e.Data.Object.ID) })
	if code, _ := status(err); code == http.StatusForbidden {
		l.scope(l.s.a.eventScope(), false, "the restricted key lacks a permission (403): grant Read on Events")
		return nil
	}
	if err != nil {
		return err
	}
	l.scope(l.s.a.eventScope(), complete, "there are more events in the window than are read")
	for _, id := range order {
		if err := l.again(ctx, id, fmt.Sprintf("Idempotency-Key of issue number %d", hits[id])); err != nil {
			return err
		}
	}
	return nil
}

// search asks Stripe's search index, which lags: what it brings is read again,
// what it does not bring proves nothing, and neither does its refusal. Where many
// references are looked for in the same lists, it would be a request for each.
func (l *look) search(ctx context.Context) error {
	if !l.s.a.kind.search || egress.Sharing(ctx) {
		return nil
	}
	query := url.Values{"limit": {strconv.Itoa(perPage)}, "query": {fmt.Sprintf("metadata['%s']:'%s'", l.s.a.cfg.MetadataKey, l.q.Ref)}}
	var page list[object]
	err := l.get(ctx, l.s.a.kind.path+"/search", query, &page, func() string {
		return shown(page, func(o object) string { return o.summary(l.s.a.cfg.MetadataKey) })
	})
	switch code, _ := status(err); code {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound:
		return nil // not available to this account; the lists have decided
	}
	if err != nil {
		return err
	}
	if page.Object != "search_result" || page.Data == nil {
		return bad("Stripe's answer is no search result")
	}
	for _, o := range *page.Data {
		if !l.s.a.kind.owns(o.ID) {
			return bad("Stripe's search result holds a row that is no " + l.s.a.kind.object)
		}
		if err := l.again(ctx, o.ID, ""); err != nil {
			return err
		}
	}
	return nil
}

// pages reads a list to its end. visit returns the row's id; line is what
// evidence keeps of a row. It reports whether the end was reached.
func pages[T any](ctx context.Context, l *look, path string, query url.Values, visit func(T) (string, error), line func(T) string) (bool, error) {
	seen := map[string]bool{}
	for range l.s.a.cfg.MaxPages {
		var page list[T]
		if err := l.get(ctx, path, query, &page, func() string { return shown(page, line) }); err != nil {
			return false, err
		}
		if page.Object != "list" || page.Data == nil || page.HasMore == nil {
			return false, bad("Stripe's answer is no list")
		}
		last := ""
		for _, row := range *page.Data {
			id, err := visit(row)
			if err != nil {
				return false, err
			}
			if seen[id] {
				return false, bad("Stripe gave a row twice: its pages can't be trusted to be complete")
			}
			seen[id], last = true, id
		}
		switch {
		case !*page.HasMore:
			return true, nil
		case last == "":
			return false, bad("Stripe says that there is more and gives nothing")
		}
		query.Set("starting_after", last)
	}
	return false, nil
}

// shown is what evidence keeps of a page.
func shown[T any](page list[T], line func(T) string) string {
	if page.Data == nil {
		return "no list"
	}
	more := "unknown"
	if page.HasMore != nil {
		more = strconv.FormatBool(*page.HasMore)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows, has_more %s", len(*page.Data), more)
	for i, row := range *page.Data {
		if i == shownRows {
			fmt.Fprintf(&b, "\n(%d more)", len(*page.Data)-i)
			break
		}
		b.WriteString("\n" + line(row))
	}
	return b.String()
}
