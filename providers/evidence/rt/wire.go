package rt

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

const statusDeleted = "deleted"

// recordID is an id as RT writes it: a number, a string of digits, or an object
// that has one; empty where RT writes null or an empty string. Anything else is
// an error, so a recordID may stand in a path and in a query.
type recordID string

func (r *recordID) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	if isObject(b) {
		var ref struct {
			ID json.RawMessage `json:"id"`
		}
		if err := json.Unmarshal(b, &ref); err != nil {
			return err
		}
		b = ref.ID
	}
	s := strings.Trim(string(b), `"`)
	if s == "" || s == "null" {
		*r = ""
		return nil
	}
	if len(s) > 18 || strings.Trim(s, "0123456789") != "" {
		return errors.New("an id is not a number")
	}
	*r = recordID(s)
	return nil
}

// listPage is one page of a collection. Total is nil where RT held rows back.
type listPage struct {
	Items *[]listRow `json:"items"`
	Count *int       `json:"count"`
	Total *int       `json:"total"`
	Page  int        `json:"page"`
}

// listRow is a ticket or a transaction in a collection.
type listRow struct {
	ID           recordID  `json:"id"`
	Subject      string    `json:"Subject"`
	Status       string    `json:"Status"`
	Created      rtTime    `json:"Created"`
	EffectiveID  recordID  `json:"EffectiveId"`
	Queue        queueRef  `json:"Queue"`
	CustomFields *fieldSet `json:"CustomFields"` // nil: the answer has no such key
	ObjectID     recordID  `json:"ObjectId"`
}

// ticketRecord is one ticket read by its id.
type ticketRecord struct {
	ID           recordID  `json:"id"`
	Subject      string    `json:"Subject"`
	Status       string    `json:"Status"`
	Type         string    `json:"Type"`
	Created      rtTime    `json:"Created"`
	Queue        queueRef  `json:"Queue"`
	Creator      userRef   `json:"Creator"`
	Requestor    userRefs  `json:"Requestor"`
	CustomFields *fieldSet `json:"CustomFields"`
}

// queueRecord is one queue. TicketCustomFields are the fields that apply to its
// tickets and that the account may see.
type queueRecord struct {
	ID                 recordID      `json:"id"`
	Name               string        `json:"Name"`
	TicketCustomFields *[]fieldValue `json:"TicketCustomFields"`
}

// queueRef points to a queue; empty where RT does not show it.
type queueRef struct {
	ID   recordID
	Name string // only if asked for and visible
}

func (q *queueRef) UnmarshalJSON(b []byte) error {
	if !isObject(b) {
		return nil
	}
	var ref struct {
		ID   recordID `json:"id"`
		Name any      `json:"Name"`
	}
	if err := json.Unmarshal(b, &ref); err != nil {
		return err
	}
	q.ID = ref.ID
	q.Name, _ = ref.Name.(string)
	return nil
}

// userRef names a user or a group; empty where RT does not show one.
type userRef struct{ ID string }

func (u *userRef) UnmarshalJSON(b []byte) error {
	if !isObject(b) {
		return nil
	}
	var ref struct {
		ID any `json:"id"`
	}
	if err := json.Unmarshal(b, &ref); err != nil {
		return err
	}
	switch id := ref.ID.(type) {
	case string:
		u.ID = id
	case float64:
		u.ID = strconv.FormatFloat(id, 'f', -1, 64)
	}
	return nil
}

// userRefs is a list of users; RT writes an empty string where it has none.
type userRefs []userRef

func (u *userRefs) UnmarshalJSON(b []byte) error {
	if !isArray(b) {
		return nil
	}
	var list []userRef
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	*u = list
	return nil
}

type fieldValue struct {
	ID     recordID          `json:"id"`
	Name   string            `json:"name"`
	Values []json.RawMessage `json:"values"`
}

// fieldSet is the list of custom fields; RT writes an empty string for none.
type fieldSet []fieldValue

func (f *fieldSet) UnmarshalJSON(b []byte) error {
	if !isArray(b) {
		return nil
	}
	var list []fieldValue
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	*f = list
	return nil
}

// holds says whether the field is shown at all, and whether one of its values is
// ref, byte for byte.
func (f *fieldSet) holds(field recordID, ref string) (shown, equal bool) {
	if f == nil {
		return false, false
	}
	for _, cf := range *f {
		if cf.ID != field {
			continue
		}
		shown = true
		equal = equal || slices.ContainsFunc(cf.Values, func(raw json.RawMessage) bool {
			var s string // images and binaries are objects: no reference
			return json.Unmarshal(raw, &s) == nil && s == ref
		})
	}
	return shown, equal
}

// rtTime is a time as RT writes it; what can't be read is zero, since no verdict
// hangs on it.
type rtTime struct{ time.Time }

func (t *rtTime) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		if at, err := time.Parse(time.RFC3339, s); err == nil && at.Unix() > 0 {
			t.Time = at.UTC()
		}
	}
	return nil
}

func isArray(b []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")) }

func isObject(b []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) }
