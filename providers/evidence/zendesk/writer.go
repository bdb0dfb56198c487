package zendesk

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"

	"github.com/landedhq/landed/journal"
)

// CreateBody returns the body of POST /api/v2/tickets for a ticket that carries
// ref, and is, with Header, all that a worker must get right. ticket holds the
// ticket's own properties (subject, comment, requester and so on); external_id is
// added. The same ticket gives the same bytes every time: Zendesk compares the body
// of a repeated request with the first one's.
//
// The ticket belongs to an agent's POST /api/v2/tickets. One that an end user or a
// suspended requester sends may be suspended, and then has no external_id.
func CreateBody(ticket map[string]any, ref string) ([]byte, error) {
	if !journal.ValidRef(ref) {
		return nil, errors.New("zendesk: the reference is not 32 lower-case hex digits")
	}
	if given, ok := ticket["external_id"]; ok && given != ref {
		return nil, errors.New("zendesk: the ticket has an external_id already: it is the only field that can carry the reference")
	}
	marked := maps.Clone(ticket)
	if marked == nil {
		marked = map[string]any{}
	}
	marked["external_id"] = ref
	b, err := json.Marshal(map[string]any{"ticket": marked})
	if err != nil {
		return nil, fmt.Errorf("zendesk: encoding the ticket: %w", err)
	}
	return b, nil
}

// Header returns the headers of a create request: the provider key that begin
// answered. Zendesk honours it for two hours and then makes a second ticket, so a
// tool's key window is two hours at most.
func Header(providerKey string) (http.Header, error) {
	if !journal.ValidRef(providerKey) {
		return nil, errors.New("zendesk: the provider key is not 32 lower-case hex digits")
	}
	h := http.Header{}
	h.Set("Idempotency-Key", providerKey)
	return h, nil
}

// HandleOf returns the handle's kind and value of the ticket that the effect made:
// a worker that learned its id and has more to do before it commits journals it, and
// evidence is then a read by id as well. Never that of a ticket which was there
// before.
func HandleOf(id int64) (kind, value string, err error) {
	if id <= 0 {
		return "", "", fmt.Errorf("zendesk: %d is no id of a ticket", id)
	}
	return HandleKind, strconv.FormatInt(id, 10), nil
}
