package stripe

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// object is what the adapter reads of any kind of object. Nothing else of an
// answer is kept: it holds people's addresses and client secrets.
type object struct {
	ID            string            `json:"id"`
	Object        string            `json:"object"`
	Created       int64             `json:"created"`
	Livemode      *bool             `json:"livemode"` // refunds have none
	Status        string            `json:"status"`
	PaymentStatus string            `json:"payment_status"` // of checkout sessions
	Amount        *int64            `json:"amount"`
	AmountTotal   *int64            `json:"amount_total"` // of checkout sessions
	Currency      string            `json:"currency"`
	Metadata      map[string]string `json:"metadata"`
	PaymentIntent idRef             `json:"payment_intent"`
	Charge        idRef             `json:"charge"`
	Destination   idRef             `json:"destination"` // of transfers
	Reversed      bool              `json:"reversed"`    // of transfers
	Refunded      bool              `json:"refunded"`    // of charges
	Captured      *bool             `json:"captured"`    // of charges
}

// event is one event; the object in it is of any kind.
type event struct {
	ID       string `json:"id"`
	Object   string `json:"object"`
	Type     string `json:"type"`
	Created  int64  `json:"created"`
	Livemode *bool  `json:"livemode"`
	Data     struct {
		Object struct {
			ID     string `json:"id"`
			Object string `json:"object"`
		} `json:"object"`
	} `json:"data"`
	Request *struct {
		IdempotencyKey string `json:"idempotency_key"`
	} `json:"request"`
}

// list is one page.
type list[T any] struct {
	Object  string `json:"object"`
	Data    *[]T   `json:"data"`
	HasMore *bool  `json:"has_more"`
}

// failure is the body of an answer that is no success.
type failure struct {
	Error struct {
		Type    string `json:"type"`
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// idRef is an id, or an object that was expanded.
type idRef string

func (r *idRef) UnmarshalJSON(b []byte) error {
	var full struct {
		ID string `json:"id"`
	}
	if strings.HasPrefix(string(b), "{") {
		if err := json.Unmarshal(b, &full); err != nil {
			return err
		}
		*r = idRef(full.ID)
		return nil
	}
	var id *string
	if err := json.Unmarshal(b, &id); err != nil {
		return err
	}
	if id != nil {
		*r = idRef(*id)
	}
	return nil
}

func (o object) at() time.Time { return time.Unix(o.Created, 0).UTC() }

// amount writes the amount as Stripe does: in the currency's smallest unit.
func (o object) amount() string {
	n := o.Amount
	if n == nil {
		n = o.AmountTotal
	}
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10) + " " + strings.ToUpper(o.Currency) + " (smallest unit)"
}

// summary is all that evidence keeps of an object's JSON.
func (o object) summary(metadataKey string) string {
	mode := "none"
	if o.Livemode != nil {
		mode = strconv.FormatBool(*o.Livemode)
	}
	return fmt.Sprintf("%.80s created=%s status=%.30q livemode=%s metadata[%s]=%.80q", o.ID, o.at().Format(time.RFC3339), o.Status, mode, metadataKey, o.Metadata[metadataKey])
}
