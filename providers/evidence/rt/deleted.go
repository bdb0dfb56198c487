package rt

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

const (
	// maxDeleted caps the deleted tickets that one look reads.
	maxDeleted = 25
	// zoneMargin widens the window: RT reads times in a query in the account's own
	// time zone.
	zoneMargin = 24 * time.Hour
	sqlTime    = "2006-01-02 15:04:05"
)

// deleted looks among the queue's deleted tickets. A ticket search leaves them
// out whatever the query says; a transaction search lists them by the
// transaction that created them, and each can be read by its id.
//
// It runs only when no live ticket was found: a surplus ticket that a person
// deleted is no duplicate any more.
func (l *look) deleted(ctx context.Context) error {
	res, err := l.pages(ctx, "transactions", l.deletedQuery(), "ObjectId")
	switch code := status(err); {
	case code == http.StatusForbidden || code == http.StatusNotFound || code == http.StatusBadRequest:
		l.scope(l.s.a.deletedScope(), false, fmt.Sprintf("RT does not list them (%d): a ticket that a person deleted would not be seen", code))
		return nil
	case err != nil:
		return err
	case !res.complete || len(res.rows) > maxDeleted:
		l.scope(l.s.a.deletedScope(), false, fmt.Sprintf("more than %d tickets of the window were deleted: they were not read", maxDeleted))
		return nil
	}
	why := ""
	for _, row := range res.rows {
		unread, err := l.readDeleted(ctx, row)
		if err != nil {
			return err
		}
		if unread != "" && why == "" {
			why = unread
		}
	}
	l.scope(l.s.a.deletedScope(), why == "", why)
	return nil
}

func (l *look) deletedQuery() string {
	q := fmt.Sprintf("ObjectType = 'RT::Ticket' AND Type = 'Create' AND TicketStatus = '%s' AND TicketQueue = %s",
		statusDeleted, l.s.place.queue)
	if !l.q.From.IsZero() {
		q += fmt.Sprintf(" AND TicketCreated > '%s'", l.q.From.UTC().Add(-zoneMargin).Format(sqlTime))
	}
	if !l.q.To.IsZero() {
		q += fmt.Sprintf(" AND TicketCreated < '%s'", l.q.To.UTC().Add(zoneMargin).Format(sqlTime))
	}
	return q
}

// readDeleted reads one deleted ticket; unread says why it could not be compared.
func (l *look) readDeleted(ctx context.Context, row listRow) (unread string, err error) {
	if row.ObjectID == "" {
		return "RT does not say which tickets were deleted", nil
	}
	rec, err := l.ticket(ctx, row.ObjectID)
	if code := status(err); code == http.StatusForbidden || code == http.StatusNotFound {
		return fmt.Sprintf("deleted ticket %s can't be read (%d)", row.ObjectID, code), nil
	}
	if err != nil {
		return "", err
	}
	shown, equal := rec.CustomFields.holds(l.s.place.field, l.q.Ref)
	switch {
	case !shown:
		return fmt.Sprintf("deleted ticket %s does not show field %q", row.ObjectID, l.s.a.cfg.Field), nil
	case equal && rec.ID == row.ObjectID:
		l.addMatch(rec, rec.ID)
	}
	return "", nil
}
