package zendesk

import (
	"encoding/json"
	"testing"
)

// FuzzPages: whatever Zendesk sends, it can be shown or is no answer.
func FuzzPages(f *testing.F) {
	f.Add([]byte(`{"tickets":[{"id":1,"external_id":"x","created_at":"2026-01-02T03:04:05Z","tags":["closed_by_merge"],"via":{"channel":33}}],"meta":{"has_more":true,"after_cursor":"x"}}`))
	f.Add([]byte(`{"tickets":null,"meta":{}}`))
	f.Add([]byte(`{"deleted_tickets":[{"id":1,"actor":null}],"suspended_tickets":[{"via":null}],"next_page":"x"}`))
	f.Add([]byte(`{"user":{"id":null,"ticket_restriction":null},"token":{"scopes":[]},"ticket":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p ticketPage
		if json.Unmarshal(b, &p) == nil && p.shown() == "" {
			t.Error("nothing is shown")
		}
		var s shadowPage
		if json.Unmarshal(b, &s) == nil && s.Suspended != nil {
			for _, row := range *s.Suspended {
				_ = row.Via.String()
			}
		}
		_ = failureText(b)
	})
}

func TestScopesThatOnlyRead(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		scopes []string
		want   bool
	}{
		{nil, false},
		{[]string{"read"}, true},
		{[]string{"tickets:read", "users:read"}, true},
		{[]string{"read", "write"}, false},
		{[]string{"read", "tickets:write"}, false},
		{[]string{"tickets"}, false}, // without a level it is both
		{[]string{"read", "impersonate"}, false},
		{[]string{""}, false},
	} {
		if got := readOnlyScopes(row.scopes); got != row.want {
			t.Errorf("%q: %v", row.scopes, got)
		}
	}
}
