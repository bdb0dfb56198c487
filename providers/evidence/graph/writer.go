package graph

import (
	"errors"
	"fmt"
	"strings"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence/mailref"
)

// HandleMessage is the kind of the handle that a worker journals before it sends:
// the id of the draft that it created with Prefer: IdType="ImmutableId". The message
// keeps that id when it is sent.
const HandleMessage = "graph_message"

// Properties returns what a worker adds to the JSON of the message when it creates
// it, by sendMail or as a draft, and is, with the handle, all that it must get
// right. saveToSentItems must not be false. c must be the adapter's. A worker that
// sends MIME writes mailref.Carrier.Fields instead.
func Properties(c mailref.Carrier, ref string) (map[string]any, error) {
	c = c.WithDefaults()
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	if !journal.ValidRef(ref) {
		return nil, errors.New("graph: the reference is not 32 lower-case hex digits")
	}
	return map[string]any{
		"singleValueExtendedProperties": []map[string]string{{"id": Property, "value": ref}},
		"internetMessageHeaders":        []map[string]string{{"name": strings.ToLower(c.Header), "value": ref}},
	}, nil
}
