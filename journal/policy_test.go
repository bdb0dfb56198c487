package journal

import "testing"

// TestRule_Amounts: from the amount on, in its currency; what can't be compared
// counts as reached.
func TestRule_Amounts(t *testing.T) {
	t.Parallel()
	r := Rule{AmountFrom: "1000.00", Currency: "EUR"}
	tests := []struct {
		amount, currency string
		want             bool
	}{
		{"999.99", "EUR", false}, {"1000", "EUR", true}, {"1e3", "EUR", true}, {"1000.0000000000000001", "EUR", true},
		{"-5000.00", "EUR", true}, {"12.50", "EUR", false}, {"12.50", "USD", true}, {"", "", true}, {"twelve", "EUR", true},
	}
	for _, tt := range tests {
		if got := r.reaches(&Effect{Amount: tt.amount, Currency: tt.currency}); got != tt.want {
			t.Errorf("%q %s: %v, want %v", tt.amount, tt.currency, got, tt.want)
		}
	}
}

// TestAsks_AddsUp: every rule that matches asks; codes that only one of them allows
// are not allowed.
func TestAsks_AddsUp(t *testing.T) {
	t.Parallel()
	p := DefaultPolicy()
	p.Rules = []Rule{
		{Name: "a", FourEyes: true, EvidenceMaxAge: p.EvidenceMaxAge / 2, ReasonCodes: []ReasonCode{"test", "other"}},
		{Name: "b", StepUp: true, EvidenceMaxAge: p.EvidenceMaxAge * 2, ReasonCodes: []ReasonCode{"other", "done_by_hand"}},
		{Name: "c", Tools: []string{"elsewhere"}, Forbid: true},
	}
	ask := p.Asks(&Snapshot{Effect: Effect{Tool: "mail.send"}}, &Decision{Verb: VerbReissue})
	if !ask.FourEyes || !ask.StepUp || ask.Forbidden != "" || ask.EvidenceMaxAge != p.EvidenceMaxAge/2 || len(ask.ReasonCodes) != 1 || ask.ReasonCodes[0] != "other" || len(ask.Rules) != 2 {
		t.Errorf("%+v", ask)
	}
	if ask := p.Asks(&Snapshot{Effect: Effect{Tool: "mail.send"}}, &Decision{Verb: VerbCorrect}); !ask.FourEyes {
		t.Error("a correction takes two people whatever the rules say")
	}
}
