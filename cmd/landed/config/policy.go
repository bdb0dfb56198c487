package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/landedhq/landed/journal"
)

// Rule asks something of the decisions that it matches. A list that is left out
// matches everything.
type Rule struct {
	Name string `yaml:"name" json:"name"`

	Tools      []string `yaml:"tools" json:"tools,omitempty"`           // names, or prefixes ending in *
	Namespaces []string `yaml:"namespaces" json:"namespaces,omitempty"` // the same
	Providers  []string `yaml:"providers" json:"providers,omitempty"`   // the same
	Classes    []string `yaml:"classes" json:"classes,omitempty"`
	Verbs      []string `yaml:"verbs" json:"verbs,omitempty"`
	// Verdicts of the newest look; "none": nobody looked yet.
	Verdicts []string `yaml:"verdicts" json:"verdicts,omitempty"`
	// AmountFrom, decimal text in quotes, and Currency: from this amount on. An
	// effect without an amount, or in another currency, matches too.
	AmountFrom string `yaml:"amount_from" json:"amount_from,omitempty"`
	Currency   string `yaml:"currency" json:"currency,omitempty"`
	// BulkFrom: only when so many effects or more are decided together.
	BulkFrom int `yaml:"bulk_from" json:"bulk_from,omitempty"`

	FourEyes       bool     `yaml:"four_eyes" json:"four_eyes,omitempty"`
	StepUp         bool     `yaml:"step_up" json:"step_up,omitempty"`
	Forbid         bool     `yaml:"forbid" json:"forbid,omitempty"`
	EvidenceMaxAge Duration `yaml:"evidence_max_age" json:"evidence_max_age,omitempty"`
	ReasonCodes    []string `yaml:"reason_codes" json:"reason_codes,omitempty"`
	Groups         []string `yaml:"groups" json:"groups,omitempty"`
}

// noLook stands for "nobody looked yet" among verdicts.
const noLook = "none"

// decisions fills what the file says of decisions. The version of a policy with
// rules ends in a digest of them: a rule that is changed under the same version
// still shows in the record.
func (p Policy) decisions(out *journal.Policy) {
	out.Overrides, out.BreakGlass = p.Overrides, p.BreakGlass
	for _, r := range p.Rules {
		out.Rules = append(out.Rules, r.journal())
	}
	if len(p.Rules)+len(p.Overrides)+len(p.BreakGlass) == 0 {
		return
	}
	// Marshalling strings, bools and durations can't fail.
	b, _ := json.Marshal([]any{p.Rules, p.Overrides, p.BreakGlass})
	sum := sha256.Sum256(b)
	out.Version += "+" + hex.EncodeToString(sum[:4])
}

func (r Rule) journal() journal.Rule {
	out := journal.Rule{Name: r.Name, Tools: r.Tools, Namespaces: r.Namespaces, Providers: r.Providers, AmountFrom: r.AmountFrom, Currency: r.Currency, BulkFrom: r.BulkFrom,
		FourEyes: r.FourEyes, StepUp: r.StepUp, Forbid: r.Forbid, EvidenceMaxAge: r.EvidenceMaxAge.D(), Groups: r.Groups}
	for _, c := range r.Classes {
		out.Classes = append(out.Classes, journal.Class(c))
	}
	for _, v := range r.Verbs {
		out.Verbs = append(out.Verbs, journal.Verb(v))
	}
	for _, v := range r.Verdicts {
		out.Verdicts = append(out.Verdicts, journal.Verdict(strings.TrimPrefix(v, noLook)))
	}
	for _, c := range r.ReasonCodes {
		out.ReasonCodes = append(out.ReasonCodes, journal.ReasonCode(c))
	}
	return out
}

// Groups are those that the policy names: a session has to remember them.
func (p Policy) Groups() []string {
	out := slices.Clone(p.BreakGlass)
	for _, r := range p.Rules {
		out = append(out, r.Groups...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (p Policy) check() error {
	j := p.Journal()
	if j.DefaultLease > j.MaxLease {
		return fmt.Errorf("policy: default_lease %s is longer than max_lease %s", j.DefaultLease, j.MaxLease)
	}
	if p.BulkMax < 0 || p.BulkMax > journal.MaxGrouped {
		return fmt.Errorf("policy.bulk_max: %d is not between 1 and %d", p.BulkMax, journal.MaxGrouped)
	}
	if len(p.Rules) > 0 && p.Version == "" {
		return errors.New("policy: rules need a version: every decision records it")
	}
	for _, code := range p.Overrides {
		if !(journal.Block{Code: code}).Overridable() {
			return fmt.Errorf("policy.overrides: %q is none of found, found_pending, found_twice, too_early: nothing else is ever passed over", code)
		}
	}
	if slices.Contains(p.BreakGlass, "") {
		return errors.New("policy.break_glass: a group's name is empty")
	}
	names := map[string]bool{}
	for i, r := range p.Rules {
		if r.Name == "" || len(r.Name) > 120 || names[r.Name] {
			return fmt.Errorf("policy.rules[%d]: needs a name of its own of at most 120 bytes: pages and the record show it", i)
		}
		names[r.Name] = true
		if err := r.check(); err != nil {
			return fmt.Errorf("policy.rules: %s: %w", r.Name, err)
		}
	}
	return nil
}

func (r Rule) check() error {
	for _, l := range []struct {
		field  string
		values []string
		known  []string
	}{
		{"classes", r.Classes, texts(journal.ClassProviderIdempotent, journal.ClassJournalDeduped, journal.ClassAtMostOnce)},
		{"verbs", r.Verbs, texts(journal.VerbReissue, journal.VerbCloseLanded, journal.VerbCloseNotLanded, journal.VerbReopen)},
		{"verdicts", r.Verdicts, append(texts(journal.Found, journal.FoundPending, journal.FoundNotEffective, journal.Duplicate, journal.NotFound, journal.CannotTell), noLook)},
		{"reason_codes", r.ReasonCodes, texts(journal.ReasonCodes()...)},
	} {
		for _, v := range l.values {
			if !slices.Contains(l.known, v) {
				return fmt.Errorf("%s: %q is none of %s", l.field, v, strings.Join(l.known, ", "))
			}
		}
	}
	for field, patterns := range map[string][]string{"tools": r.Tools, "namespaces": r.Namespaces, "providers": r.Providers} {
		for _, p := range patterns {
			if strings.Contains(strings.TrimSuffix(p, "*"), "*") {
				return fmt.Errorf("%s: %q: a * stands at the end only", field, p)
			}
		}
	}
	if r.BulkFrom < 0 {
		return fmt.Errorf("bulk_from: %d is less than none", r.BulkFrom)
	}
	if (r.AmountFrom == "") != (r.Currency == "") {
		return errors.New("amount_from and currency go together")
	}
	if _, ok := new(big.Rat).SetString(r.AmountFrom); r.AmountFrom != "" && !ok {
		return fmt.Errorf("amount_from: %q is no decimal number: write it in quotes, like \"1000.00\"", r.AmountFrom)
	}
	if !r.FourEyes && !r.StepUp && !r.Forbid && r.EvidenceMaxAge == 0 && r.ReasonCodes == nil && r.Groups == nil {
		return errors.New("asks nothing: give it four_eyes, step_up, forbid, evidence_max_age, reason_codes or groups")
	}
	return nil
}

func texts[T ~string](values ...T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
