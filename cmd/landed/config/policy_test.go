package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/cmd/landed/config"
	"github.com/landedhq/landed/journal"
)

const policyFile = `
external_url: https://landed.example.com
database: env:LANDED_DATABASE
login: {issuer: "https://idp.example.com", client_id: landed, client_secret: "env:SECRET", roles: {operator: [ops]}}
policy:
  version: 2026-11
  overrides: [found, too_early]
  break_glass: [incident-commanders]
  step_up: 10m
  rules:
    - name: large payments
      tools: ["pay.*"]
      verbs: [reissue]
      amount_from: "1000.00"
      currency: EUR
      four_eyes: true
      step_up: true
    - name: nobody looked
      verdicts: [none, CANNOT_TELL]
      evidence_max_age: 1m
      reason_codes: [confirmed_by_person]
      groups: [payments]
`

func TestPolicy(t *testing.T) {
	t.Parallel()
	c, err := config.Parse([]byte(policyFile))
	if err != nil {
		t.Fatal(err)
	}
	p := c.JournalPolicy()
	want := []journal.Rule{
		{Name: "large payments", Tools: []string{"pay.*"}, Verbs: []journal.Verb{journal.VerbReissue}, AmountFrom: "1000.00", Currency: "EUR", FourEyes: true, StepUp: true},
		{Name: "nobody looked", Verdicts: []journal.Verdict{"", journal.CannotTell}, EvidenceMaxAge: time.Minute,
			ReasonCodes: []journal.ReasonCode{"confirmed_by_person"}, Groups: []string{"payments"}},
	}
	if diff := cmp.Diff(want, p.Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if p.StepUp != 10*time.Minute || !strings.HasPrefix(p.Version, "2026-11+") {
		t.Errorf("step_up %s, version %s", p.StepUp, p.Version)
	}
	if diff := cmp.Diff([]string{"incident-commanders", "payments"}, c.Policy.Groups()); diff != "" {
		t.Errorf("groups that a session keeps (-want +got):\n%s", diff)
	}
	changed, err := config.Parse([]byte(strings.Replace(policyFile, "1000.00", "2000.00", 1)))
	if err != nil || changed.JournalPolicy().Version == p.Version {
		t.Errorf("another rule under the same version: %v, %s", err, changed.JournalPolicy().Version)
	}
}

// TestPolicy_Errors: each says what is wrong and what to do.
func TestPolicy_Errors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, from, to, want string }{
		{"no version", "  version: 2026-11\n", "", "policy: rules need a version"},
		{"an override of what stays", "found, too_early", "found, attempt_confirmed", `"attempt_confirmed" is none of found`},
		{"a rule without a name", "name: large payments", `name: ""`, "policy.rules[0]: needs a name"},
		{"one name twice", "name: nobody looked", "name: large payments", "policy.rules[1]: needs a name of its own"},
		{"an unknown verb", "verbs: [reissue]", "verbs: [redo]", `large payments: verbs: "redo" is none of reissue`},
		{"an unknown verdict", "verdicts: [none,", "verdicts: [MAYBE,", `verdicts: "MAYBE"`},
		{"an unknown class", "tools: [\"pay.*\"]", "classes: [twice]", `classes: "twice"`},
		{"an unknown reason", "[confirmed_by_person]", "[because]", `reason_codes: "because"`},
		{"a star in the middle", `["pay.*"]`, `["pay.*.eur"]`, "a * stands at the end only"},
		{"an amount that is none", `"1000.00"`, `"1.000,00"`, "amount_from"},
		{"an amount without currency", "      currency: EUR\n", "", "go together"},
		{"a rule that asks nothing", "      four_eyes: true\n      step_up: true\n", "", "large payments: asks nothing"},
		{"a nameless group", "[incident-commanders]", `[""]`, "policy.break_glass"},
		{"an unknown key", "four_eyes: true", "four_eye: true", "four_eye"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(policyFile, tt.from) {
				t.Fatalf("the file holds no %q", tt.from)
			}
			_, err := config.Parse([]byte(strings.Replace(policyFile, tt.from, tt.to, 1)))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
