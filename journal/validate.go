package journal

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of the texts in a request, in bytes.
const (
	MaxTextBytes       = 500
	MaxLabels          = 20
	MaxLabelBytes      = 200
	MaxResumeBytes     = 8 << 10
	MaxProviderIDBytes = 1000
	MaxErrorBytes      = 4000
	MaxHandleBytes     = 1000
)

// Validate checks a begin before anything is written. The error is an
// *InvalidError that names the field and says what to do.
func (r BeginRequest) Validate() error {
	if err := r.ValidateFields(); err != nil {
		return err
	}
	return CheckArgs(r.Args)
}

// ValidateFields is Validate without the args: for who takes their Fingerprint,
// which reads and checks them, next.
func (r BeginRequest) ValidateFields() error {
	if err := ValidateKey(r.Key); err != nil {
		return err
	}
	if r.Namespace != "" {
		if err := ValidateName("namespace", r.Namespace); err != nil {
			return err
		}
	}
	if len(r.ClaimID) < 16 || len(r.ClaimID) > 64 || !printable(r.ClaimID) {
		return invalid("claim_id", "must be 16 to 64 printable characters, random per call")
	}
	if err := ValidateName("tool", r.Tool); err != nil {
		return err
	}
	if strings.TrimSpace(r.RootRun) == "" {
		return invalid("root_run", "is missing: name the run that the effect belongs to")
	}
	if strings.TrimSpace(r.Operation) == "" {
		return invalid("operation", "is missing: name what the tool is asked to do")
	}
	for _, f := range []struct{ name, v string }{
		{"root_run", r.RootRun}, {"turn", r.Turn}, {"run", r.Run}, {"step", r.Step}, {"operation", r.Operation},
		{"subject", r.Subject}, {"traceparent", r.Traceparent},
	} {
		if err := checkText(f.name, f.v, MaxTextBytes); err != nil {
			return err
		}
	}
	if err := r.validateValues(); err != nil {
		return err
	}
	if r.Supersedes != "" && !ValidID(r.Supersedes) {
		return invalid("supersedes", "must be an effect id")
	}
	return r.validateCompensates()
}

func (r BeginRequest) validateValues() error {
	if (r.Amount == "") != (r.Currency == "") {
		return invalid("amount", "and currency go together: give both or neither")
	}
	if r.Amount != "" && (!validNumber(r.Amount) || len(r.Amount) > 40) {
		return invalid("amount", "must be a decimal number as text, like 12.50")
	}
	if r.Currency != "" && (len(r.Currency) != 3 || strings.ToUpper(r.Currency) != r.Currency || !printable(r.Currency)) {
		return invalid("currency", "must be a code of three capital letters, like EUR")
	}
	if len(r.Labels) > MaxLabels {
		return invalid("labels", fmt.Sprintf("has %d members, at most %d are allowed", len(r.Labels), MaxLabels))
	}
	for k, v := range r.Labels {
		if k == "" || checkText("labels", k, MaxLabelBytes) != nil || checkText("labels", v, MaxLabelBytes) != nil {
			return invalid("labels", fmt.Sprintf("hold valid text of at most %d bytes, the name not empty", MaxLabelBytes))
		}
	}
	if r.Lease < 0 || r.Lease > 24*time.Hour || r.ClientTimeout < 0 || r.ClientTimeout > MaxClientTimeout {
		return invalid("lease", "and client_timeout must lie between 0 and 24 h")
	}
	if len(r.Resume) > MaxResumeBytes {
		return invalid("resume", fmt.Sprintf("has %d bytes, at most %d are allowed", len(r.Resume), MaxResumeBytes))
	}
	if r.Resume != nil {
		if _, err := canonicalize(r.Resume); err != nil {
			return invalid("resume", err.Error())
		}
	}
	return nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// checkText accepts valid UTF-8 without NUL, up to limit bytes.
func checkText(field, s string, limit int) error {
	switch {
	case len(s) > limit:
		return invalid(field, fmt.Sprintf("has %d bytes, at most %d are allowed", len(s), limit))
	case !utf8.ValidString(s):
		return invalid(field, "is not valid UTF-8")
	case strings.ContainsRune(s, 0):
		return invalid(field, "holds a NUL character")
	}
	return nil
}

func (r Report) validate() error {
	if r.EffectID == "" && r.Key == "" {
		return invalid("effect_id", "is missing")
	}
	if r.Attempt < 1 {
		return invalid("attempt", "is missing: send the number that begin gave")
	}
	if r.LeaseToken == "" || len(r.LeaseToken) > 64 || !printable(r.LeaseToken) {
		return invalid("lease_token", "is missing: send the token that begin gave")
	}
	return nil
}

// Validate checks a commit. Content is never a reason to refuse one: only what
// identifies it is checked, and the size of the result.
func (r CommitRequest) Validate() error {
	if err := r.validate(); err != nil {
		return err
	}
	if len(r.Result) > MaxResultBytes {
		return invalid("result", fmt.Sprintf("has %d bytes, at most %d are kept: commit again without it, or with a reference", len(r.Result), MaxResultBytes))
	}
	return nil
}

// Validate checks a fail report.
func (r FailRequest) Validate() error {
	if err := r.validate(); err != nil {
		return err
	}
	if !r.Phase.Valid() {
		return invalid("phase", fmt.Sprintf("%q is none of not_sent, sent, refused", r.Phase))
	}
	if r.RetryAfter < 0 {
		return invalid("retry_after", "is negative")
	}
	return nil
}

// Validate checks a handle.
func (r HandleRequest) Validate() error {
	if err := r.validate(); err != nil {
		return err
	}
	if err := ValidateName("kind", r.Kind); err != nil {
		return err
	}
	if r.Value == "" {
		return invalid("value", "is empty")
	}
	return checkText("value", r.Value, MaxHandleBytes)
}
