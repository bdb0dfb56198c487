package rt

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

const (
	perPage      = 100 // the most that REST2 gives
	ticketFields = "Subject,Status,Created,EffectiveId,Queue,CustomFields"
)

// refQuery is the search for a reference. No queue stands in it, so that a
// ticket that was moved is found; EffectiveId stands in it because RT leaves
// merged tickets out of any query that does not speak of it. field is a number
// and ref 32 hex digits: nothing needs escaping.
func refQuery(field recordID, ref string) string {
	return fmt.Sprintf("'CF.{%s}' = '%s' AND EffectiveId > 0", field, ref)
}

// result is what the pages of one query brought.
type result struct {
	rows     []listRow
	complete bool // every page was read
	heldBack bool // RT does not tell the total: rows may be missing
}

// search reads all pages of a ticket search. RT's own next_page is not followed:
// it is missing where the total is, and pages are counted here.
func (l *look) search(ctx context.Context, query string) (result, error) {
	return l.pages(ctx, "tickets", query, ticketFields)
}

func (l *look) pages(ctx context.Context, collection, query, fields string) (result, error) {
	var res result
	seen := map[recordID]bool{}
	for n := 1; n <= l.s.a.cfg.MaxPages; n++ {
		p, err := l.page(ctx, collection, query, fields, n, perPage)
		if err != nil {
			return result{}, err
		}
		for _, row := range *p.Items {
			if !seen[row.ID] { // rows shift between pages when tickets are made meanwhile
				seen[row.ID] = true
				res.rows = append(res.rows, row)
			}
		}
		res.heldBack = res.heldBack || p.Total == nil
		switch {
		case p.Total != nil && len(res.rows) >= *p.Total:
			res.complete = true
			return res, nil
		case len(*p.Items) == 0:
			// Without a total the first empty page is the end; with one, rows are missing.
			res.complete = p.Total == nil
			return res, nil
		}
	}
	return res, nil
}

// page reads one page and checks that it is the one that was asked for.
func (l *look) page(ctx context.Context, collection, query, fields string, n, per int) (listPage, error) {
	v := url.Values{"query": {query}, "per_page": {strconv.Itoa(per)}, "page": {strconv.Itoa(n)}}
	if fields != "" {
		v.Set("fields", fields)
	}
	var p listPage
	if err := l.get(ctx, v, &p, collection); err != nil {
		return listPage{}, err
	}
	bad := ""
	switch {
	case p.Items == nil || p.Count == nil:
		bad = "RT's answer is no list"
	case *p.Count != len(*p.Items):
		bad = "RT's list has another length than it says"
	case p.Page != n:
		bad = fmt.Sprintf("RT gave page %d instead of page %d", p.Page, n)
	}
	if bad != "" {
		return listPage{}, &evidence.ProviderError{Kind: evidence.FaultBadAnswer, Detail: bad}
	}
	for _, row := range *p.Items {
		if row.ID == "" {
			return listPage{}, &evidence.ProviderError{Kind: evidence.FaultBadAnswer, Detail: "RT's list holds a row without id"}
		}
	}
	return p, nil
}

// checkRow turns one row of the search into a match, a stranger, or a row that
// can't be compared.
func (l *look) checkRow(ctx context.Context, row listRow) error {
	shown, equal := row.CustomFields.holds(l.s.place.field, l.q.Ref)
	switch {
	case row.CustomFields != nil && !shown:
		l.cantCompare(fmt.Sprintf("ticket %s does not show field %q: it was probably moved to a queue without that field", row.ID, l.s.a.cfg.Field))
		return nil
	case shown && !equal:
		l.ans.Unrelated++
		return nil
	}
	if l.read >= maxReads {
		l.ans.AllPagesRead = false
		return nil
	}
	l.read++
	if row.EffectiveID != "" && row.EffectiveID != row.ID {
		return l.readMerged(ctx, row)
	}
	return l.readTicket(ctx, row.ID)
}

// readTicket reads a ticket again and compares.
func (l *look) readTicket(ctx context.Context, id recordID) error {
	rec, err := l.ticket(ctx, id)
	if code := status(err); code == http.StatusNotFound || code == http.StatusForbidden {
		l.cantCompare(fmt.Sprintf("ticket %s can't be read (%d)", id, code))
		return nil
	}
	if err != nil {
		return err
	}
	shown, equal := rec.CustomFields.holds(l.s.place.field, l.q.Ref)
	switch {
	case !shown:
		l.cantCompare(fmt.Sprintf("ticket %s does not show field %q", id, l.s.a.cfg.Field))
	case rec.ID != id:
		l.cantCompare(fmt.Sprintf("ticket %s was merged while the look ran", id))
	case equal:
		l.addMatch(rec, id)
	default:
		l.ans.Unrelated++
	}
	return nil
}

// readMerged compares a ticket that was merged into another one. Reading it by
// id would give that other one, so it is searched again by its id, and the other
// one is read for what became of it.
func (l *look) readMerged(ctx context.Context, row listRow) error {
	res, err := l.search(ctx, fmt.Sprintf("id = %s AND EffectiveId > 0", row.ID))
	if err != nil {
		return err
	}
	again := false
	for _, r := range res.rows {
		_, equal := r.CustomFields.holds(l.s.place.field, l.q.Ref)
		again = again || r.ID == row.ID && equal
	}
	if !again {
		l.cantCompare(fmt.Sprintf("ticket %s was merged and can't be read again", row.ID))
		return nil
	}
	rec, err := l.ticket(ctx, row.ID)
	if code := status(err); code == http.StatusNotFound || code == http.StatusForbidden {
		// The account may not see the other ticket; ours is proved all the same.
		rec, err = ticketRecord{ID: row.EffectiveID, Subject: row.Subject, Status: row.Status, Queue: row.Queue}, nil
	}
	if err != nil {
		return err
	}
	rec.Created = row.Created
	l.addMatch(rec, row.ID)
	return nil
}

func (l *look) ticket(ctx context.Context, id recordID) (ticketRecord, error) {
	var rec ticketRecord
	if err := l.get(ctx, url.Values{"fields[Queue]": {"Name"}}, &rec, "ticket", string(id)); err != nil {
		return ticketRecord{}, err
	}
	if rec.ID == "" || rec.Status == "" {
		return ticketRecord{}, &evidence.ProviderError{Kind: evidence.FaultBadAnswer, Detail: "RT's answer is no record of a ticket"}
	}
	return rec, nil
}

// addMatch adds the ticket with number id, whose record is rec: the same one, or
// the one that it was merged into.
func (l *look) addMatch(rec ticketRecord, id recordID) {
	m := journal.Match{
		ID:      string(id),
		URL:     l.s.a.ticketURL(string(id)),
		Title:   rec.Subject,
		Status:  rec.Status,
		State:   journal.MatchEffective,
		At:      rec.Created.Time,
		Where:   "queue " + rec.Queue.Name,
		Carrier: "custom field " + l.s.a.cfg.Field,
	}
	if rec.Queue.Name == "" {
		m.Where = "queue " + string(rec.Queue.ID)
	}
	if !l.s.a.cfg.effective(rec.Status) {
		m.State = journal.MatchNotEffective
	}
	if rec.ID != id {
		m.Facts = append(m.Facts, journal.MatchFact{Name: "merged into ticket", Value: string(rec.ID)})
	}
	for i, r := range rec.Requestor {
		if i == 5 {
			break
		}
		m.Facts = append(m.Facts, journal.MatchFact{Name: "requestor", Value: r.ID})
	}
	if rec.Creator.ID != "" {
		m.Facts = append(m.Facts, journal.MatchFact{Name: "creator", Value: rec.Creator.ID})
	}
	l.ans.Matches = append(l.ans.Matches, m)
}
