package zendesk

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/landedhq/landed/providers/evidence/faults"
)

// shadowFresh is how long a list of deleted or suspended tickets serves the other
// queries of its session: a look and its controls take less, and Zendesk gives ten
// such lists a minute.
const shadowFresh = 5 * time.Second

// shadowList is what one of the two lists said.
type shadowList struct {
	since  time.Time // rows from here on were read
	at     time.Time // when it was asked
	rows   []shadow
	whole  bool
	denied bool // the account may not see the list
}

// kindOfShadow is one of the two lists.
type kindOfShadow struct {
	path, sort string
	rows       func(shadowPage) *[]shadow
	when       func(shadow) time.Time
}

// deleted states whether a ticket of ours could be among the deleted ones. Zendesk
// does not tell their external_id and does not let them be read, so one that was
// deleted since the window began leaves the question open.
func (l *look) deleted(ctx context.Context) error {
	list, err := l.shadows(ctx, kindOfShadow{
		path: "deleted_tickets", sort: "deleted_at",
		rows: func(p shadowPage) *[]shadow { return p.Deleted },
		when: func(s shadow) time.Time { return s.DeletedAt },
	})
	if err != nil {
		return err
	}
	l.shadowScope(scopeDeleted, list, list.rows, "deleted", func(s shadow) string {
		return fmt.Sprintf("ticket %d %.60q, by %.40q at %s", s.ID, s.Subject, s.Actor.Name, s.DeletedAt.UTC().Format(time.RFC3339))
	})
	return nil
}

// suspended states whether a ticket of ours could be among the suspended ones.
// Those that came by mail are not: a worker uses the API.
func (l *look) suspended(ctx context.Context) error {
	list, err := l.shadows(ctx, kindOfShadow{
		path: "suspended_tickets", sort: "created_at",
		rows: func(p shadowPage) *[]shadow { return p.Suspended },
		when: func(s shadow) time.Time { return s.CreatedAt },
	})
	if err != nil {
		return err
	}
	var ours []shadow
	for _, s := range list.rows {
		if s.Via.String() != "email" {
			ours = append(ours, s)
		}
	}
	l.shadowScope(scopeSuspended, list, ours, "suspended", func(s shadow) string {
		return fmt.Sprintf("%d %.60q, %.60q at %s", s.ID, s.Subject, s.Cause, s.CreatedAt.UTC().Format(time.RFC3339))
	})
	return nil
}

// shadowScope adds the scope of a list.
func (l *look) shadowScope(name string, list shadowList, rows []shadow, what string, text func(shadow) string) {
	switch {
	case list.denied:
		l.scope(name, false, "the list of "+what+" tickets is not readable with this token: use an admin's")
	case len(rows) > 0:
		why := fmt.Sprintf("%d tickets were %s since then, and Zendesk does not tell their external_id; the latest is %s", len(rows), what, text(rows[0]))
		if len(rows) == 1 {
			why = "a ticket was " + what + " since then, and Zendesk does not tell its external_id: " + text(rows[0])
		}
		l.scope(name, false, why)
	case !list.whole:
		l.scope(name, false, "there are more "+what+" tickets than are read")
	default:
		l.scope(name, true, "")
	}
}

// shadows reads one of the lists, newest first, until before the window, or to its
// end where the order was not honoured.
func (l *look) shadows(ctx context.Context, k kindOfShadow) (shadowList, error) {
	if known, ok := l.s.shadows[k.path]; ok && time.Since(known.at) < shadowFresh && !known.since.After(l.q.From) {
		return known, nil
	}
	list := shadowList{since: l.q.From, at: time.Now()}
	query := url.Values{"sort_by": {k.sort}, "sort_order": {"desc"}, "per_page": {strconv.Itoa(perPage)}}
	ordered, last := true, time.Time{}
	for n := 1; n <= l.s.a.cfg.MaxPages && !list.whole; n++ {
		query.Set("page", strconv.Itoa(n))
		page, err := l.shadowPage(ctx, k, query)
		if code := status(err); code == http.StatusForbidden {
			list.denied = true
			break
		}
		if err != nil {
			return shadowList{}, err
		}
		before := false
		for _, row := range *k.rows(page) {
			at := k.when(row)
			if row.ID <= 0 || at.IsZero() {
				return shadowList{}, faults.Bad("Zendesk's list of " + k.path + " holds a row that is none")
			}
			ordered = ordered && (last.IsZero() || !at.After(last))
			last, before = at, at.Before(l.q.From)
			if !before {
				list.rows = append(list.rows, row)
			}
		}
		list.whole = page.NextPage == nil || ordered && before
	}
	if l.s.shadows == nil {
		l.s.shadows = map[string]shadowList{}
	}
	l.s.shadows[k.path] = list
	return list, nil
}

func (l *look) shadowPage(ctx context.Context, k kindOfShadow, query url.Values) (shadowPage, error) {
	var page shadowPage
	err := l.get(ctx, k.path, query, &page, func() string {
		if k.rows(page) == nil {
			return "no list"
		}
		return fmt.Sprintf("%d rows, more %v", len(*k.rows(page)), page.NextPage != nil)
	})
	if err == nil && k.rows(page) == nil {
		err = faults.Bad("Zendesk's answer is no list of " + k.path)
	}
	return page, err
}
