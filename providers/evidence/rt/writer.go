package rt

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/landedhq/landed/journal"
)

// NewTicket is what a worker creates.
type NewTicket struct {
	Queue     string
	Subject   string
	Content   string // the first message, plain text
	Requestor string // mail address; empty = the worker's own account
}

// CreateBody returns the body of POST {base}/REST/2.0/ticket for a ticket that
// carries ref, and is all that a worker must get right: the reference goes into
// the custom field, nowhere else. Empty field = DefaultField.
//
// RT answers 201 and drops the field without a word when it does not exist on
// the queue or the account may not set it (rights SeeCustomField and
// ModifyCustomField or SetInitialCustomField). Such tickets can't be found again,
// so a worker should read its first ticket back. Landed notices as well: the
// positive control of a look then fails, and the look can't tell.
//
// RT has no idempotency key: the same body sent twice makes two tickets, so the
// tool is of class journal_deduped or at_most_once.
func CreateBody(t NewTicket, field, ref string) ([]byte, error) {
	if !journal.ValidRef(ref) {
		return nil, errors.New("rt: the reference is not 32 lower-case hex digits")
	}
	if field == "" {
		field = DefaultField
	}
	if err := errors.Join(checkName("queue", t.Queue), checkName("field", field)); err != nil {
		return nil, fmt.Errorf("rt: %w", err)
	}
	body := map[string]any{
		"Queue":        t.Queue,
		"Subject":      t.Subject,
		"Content":      t.Content,
		"CustomFields": map[string]string{field: ref},
	}
	if t.Requestor != "" {
		body["Requestor"] = t.Requestor
	}
	b, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("rt: encoding the ticket: %w", err)
	}
	return b, nil
}
