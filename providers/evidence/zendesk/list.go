package zendesk

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/landedhq/landed/providers/evidence/faults"
)

const (
	perPage = 100 // the most that Zendesk gives
	// shownRows caps the rows of a page that evidence keeps.
	shownRows = 25
)

// list asks for the tickets with this external_id. support_type_scope brings those
// of AI agents too, which are left out otherwise.
func (l *look) list(ctx context.Context) error {
	query := url.Values{"external_id": {l.q.Ref}, "support_type_scope": {"all"}, "page[size]": {strconv.Itoa(perPage)}}
	seen := map[int64]bool{}
	var hits []int64
	for range l.s.a.cfg.MaxPages {
		var page ticketPage
		if err := l.get(ctx, "tickets", query, &page, func() string { return page.shown() }); err != nil {
			return err
		}
		if page.Tickets == nil {
			return faults.Bad("Zendesk's answer is no list of tickets")
		}
		for _, t := range *page.Tickets {
			switch {
			case t.ID <= 0:
				return faults.Bad("Zendesk's list holds a row that is no ticket")
			case seen[t.ID]:
				return faults.Bad("Zendesk gave a ticket twice: its pages can't be trusted to be complete")
			case t.externalID() == l.q.Ref:
				hits = append(hits, t.ID)
			default:
				l.ans.Unrelated++ // the filter was not honoured, or another case or value equals ours there
			}
			seen[t.ID] = true
		}
		more, err := page.next(query)
		if err != nil {
			return err
		}
		if !more {
			l.ans.AllPagesRead = true
			break
		}
	}
	for _, id := range hits {
		if err := l.again(ctx, id, ""); err != nil {
			return err
		}
	}
	return nil
}

// search brings archived tickets. It lags, so it is a hit or nothing.
func (l *look) search(ctx context.Context) error {
	var page searchPage
	query := url.Values{"query": {"type:ticket external_id:" + l.q.Ref}, "per_page": {strconv.Itoa(perPage)}}
	err := l.get(ctx, "search", query, &page, func() string {
		if page.Results == nil {
			return "no results"
		}
		return rows(*page.Results)
	})
	if err != nil {
		return err
	}
	if page.Results == nil {
		return faults.Bad("Zendesk's answer is no search's")
	}
	for _, t := range *page.Results {
		if t.ID <= 0 || t.ResultType != "ticket" || t.externalID() != l.q.Ref {
			continue // words elsewhere in a ticket can match too
		}
		if err := l.again(ctx, t.ID, ""); err != nil {
			return err
		}
	}
	return nil
}

// next turns query into the one for the page after p, and reports whether there is
// one.
func (p ticketPage) next(query url.Values) (bool, error) {
	switch {
	case p.Meta != nil && p.Meta.HasMore != nil:
		if !*p.Meta.HasMore {
			return false, nil
		}
		if p.Meta.AfterCursor == "" || p.Meta.AfterCursor == query.Get("page[after]") {
			return false, faults.Bad("Zendesk says that there is more and does not say where")
		}
		query.Set("page[after]", p.Meta.AfterCursor)
		return true, nil
	case p.Meta == nil && p.Count != nil:
		if p.NextPage == nil {
			return false, nil
		}
		number, err := strconv.Atoi(query.Get("page"))
		if err != nil {
			number = 1 // it was asked for by cursor
		}
		query.Del("page[size]")
		query.Set("per_page", strconv.Itoa(perPage))
		query.Set("page", strconv.Itoa(number+1))
		return true, nil
	}
	return false, faults.Bad("Zendesk's answer does not say whether there is more")
}

func (p ticketPage) shown() string {
	if p.Tickets == nil {
		return "no list"
	}
	more := p.NextPage != nil || p.Meta != nil && p.Meta.HasMore != nil && *p.Meta.HasMore
	return fmt.Sprintf("more %v, %s", more, rows(*p.Tickets))
}

// rows is what evidence keeps of a page's rows.
func rows(tickets []ticket) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows", len(tickets))
	for i, t := range tickets {
		if i == shownRows {
			fmt.Fprintf(&b, "\n(%d more)", len(tickets)-i)
			break
		}
		b.WriteString("\n" + t.summary())
	}
	return b.String()
}
