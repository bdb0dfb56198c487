package zendesk

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ticket is what the adapter reads of a ticket. Nothing else of an answer is kept:
// it holds people's mail.
type ticket struct {
	ID         int64     `json:"id"`
	ExternalID *string   `json:"external_id"`
	Subject    string    `json:"subject"`
	Status     string    `json:"status"`
	CreatedAt  time.Time `json:"created_at"`
	Tags       []string  `json:"tags"`
	Via        channel   `json:"via"`
	Submitter  int64     `json:"submitter_id"`
	ResultType string    `json:"result_type"` // in a search's answer only
}

type channel struct {
	Name any `json:"channel"` // a word, or a number for some integrations
}

func (c channel) String() string {
	if c.Name == nil {
		return ""
	}
	return fmt.Sprint(c.Name)
}

// ticketPage is one page of a list. Lists are asked for by cursor (Meta); where an
// account or an address does not do that, the answer is paged by number (Count).
type ticketPage struct {
	Tickets *[]ticket `json:"tickets"`
	Meta    *struct {
		HasMore     *bool  `json:"has_more"`
		AfterCursor string `json:"after_cursor"`
	} `json:"meta"`
	Count    *int    `json:"count"`
	NextPage *string `json:"next_page"`
}

// searchPage is the first page of a search: hits beyond it would be a flood.
type searchPage struct {
	Results *[]ticket `json:"results"`
}

// shadow is a ticket that is deleted or suspended: neither list tells its
// external_id.
type shadow struct {
	ID        int64     `json:"id"`
	Subject   string    `json:"subject"`
	DeletedAt time.Time `json:"deleted_at"` // of a deleted one
	CreatedAt time.Time `json:"created_at"` // of a suspended one
	Via       channel   `json:"via"`        // of a suspended one
	Cause     string    `json:"cause"`      // of a suspended one
	Actor     struct {
		Name string `json:"name"`
	} `json:"actor"` // who deleted it
}

// shadowPage is one page of either list, paged by number.
type shadowPage struct {
	Deleted   *[]shadow `json:"deleted_tickets"`
	Suspended *[]shadow `json:"suspended_tickets"`
	NextPage  *string   `json:"next_page"`
}

// user is who the token acts for. Nobody in particular has no id.
type user struct {
	User *struct {
		ID                int64   `json:"id"`
		Role              string  `json:"role"`
		RestrictedAgent   bool    `json:"restricted_agent"`
		TicketRestriction *string `json:"ticket_restriction"`
		Suspended         bool    `json:"suspended"`
	} `json:"user"`
}

// tokenInfo is what Zendesk says about an OAuth token.
type tokenInfo struct {
	Token *struct {
		Scopes *[]string `json:"scopes"`
	} `json:"token"`
}

// readOnlyScopes reports whether no scope permits writing. A scope without a level
// permits both; none at all is not known to permit nothing.
func readOnlyScopes(scopes []string) bool {
	return len(scopes) > 0 && !slices.ContainsFunc(scopes, func(s string) bool {
		return s != "read" && !strings.HasSuffix(s, ":read")
	})
}

// externalID is the ticket's, or "".
func (t ticket) externalID() string {
	if t.ExternalID == nil {
		return ""
	}
	return *t.ExternalID
}

// merged reports whether the ticket was closed because it was merged into another,
// by its tag: for people, no verdict hangs on it.
func (t ticket) merged() bool { return slices.Contains(t.Tags, "closed_by_merge") }

// summary is all that evidence keeps of a ticket's JSON.
func (t ticket) summary() string {
	return fmt.Sprintf("ticket %d created=%s status=%.30q external_id=%.80q", t.ID, t.CreatedAt.Format(time.RFC3339), t.Status, t.externalID())
}
