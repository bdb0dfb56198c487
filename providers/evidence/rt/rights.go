package rt

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/landedhq/landed/providers/evidence"
)

// place is where the reference is to be found.
type place struct {
	queue recordID
	field recordID
}

// locate reads the queue once per session. It is the proof that the account sees
// queue and field, without which an empty answer means nothing.
func (l *look) locate(ctx context.Context) error {
	if l.s.place != nil {
		return nil
	}
	cfg := l.s.a.cfg
	var rec queueRecord
	if err := l.get(ctx, nil, &rec, "queue", cfg.Queue); err != nil {
		return queueFault(err, cfg.Queue)
	}
	if rec.ID == "" || rec.TicketCustomFields == nil {
		return &evidence.ProviderError{Kind: evidence.FaultBadAnswer, Detail: "RT's answer is no record of a queue"}
	}
	if byName := strings.Trim(cfg.Queue, "0123456789") != ""; byName && rec.Name != cfg.Queue {
		return &evidence.ProviderError{Kind: evidence.FaultRefused,
			Detail: fmt.Sprintf("RT has the queue %.100q, not %q: spell it as RT does", rec.Name, cfg.Queue)}
	}
	var found []recordID
	for _, f := range *rec.TicketCustomFields {
		if f.Name == cfg.Field && f.ID != "" {
			found = append(found, f.ID)
		}
	}
	switch len(found) {
	case 0:
		return &evidence.ProviderError{Kind: evidence.FaultForbidden,
			Detail: fmt.Sprintf("the account does not see custom field %q on tickets of queue %q: it lacks the right SeeCustomField, or the field is not applied to the queue", cfg.Field, cfg.Queue)}
	case 1:
		l.s.place = &place{queue: rec.ID, field: found[0]}
		return nil
	default:
		return &evidence.ProviderError{Kind: evidence.FaultRefused,
			Detail: fmt.Sprintf("queue %q has %d custom fields named %q: rename one", cfg.Queue, len(found), cfg.Field)}
	}
}

// queueFault says what 403 and 404 mean for a queue: RT does not tell a missing
// right from a missing queue.
func queueFault(err error, queue string) error {
	var pe *evidence.ProviderError
	if !errors.As(err, &pe) {
		return err
	}
	switch status(err) {
	case http.StatusForbidden:
		pe.Detail = fmt.Sprintf("the account does not see queue %q (403): it lacks the right SeeQueue, or there is no such queue", queue)
	case http.StatusNotFound, http.StatusGone:
		pe.Detail = fmt.Sprintf("RT has no queue %q, or base_url is wrong, or REST2 was switched off (%d)", queue, status(err))
	}
	return pe
}

// checkVisible asks for any ticket of the queue. Without ShowTicket a search is
// empty and does not say why.
func (l *look) checkVisible(ctx context.Context) error {
	if !l.s.visible {
		page, err := l.page(ctx, "tickets", fmt.Sprintf("Queue = %s AND EffectiveId > 0", l.s.place.queue), "", 1, 1)
		if err != nil {
			return err
		}
		l.s.visible = len(*page.Items) > 0
	}
	l.scope("any ticket of queue "+l.s.a.cfg.Queue, l.s.visible,
		"the account sees no ticket of the queue at all: it lacks the right ShowTicket, or the queue is empty")
	return nil
}
