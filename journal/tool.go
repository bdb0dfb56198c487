package journal

import (
	"fmt"
	"strings"
	"time"
)

// Tool is a registered operation. It comes from a worker's registry or from
// the configuration; the journal refuses effects of tools that it does not know.
type Tool struct {
	Name          string        `json:"name"`
	Class         Class         `json:"class"`
	Provider      string        `json:"provider,omitempty"` // a provider of the configuration; "" = no evidence can be pulled
	KeyWindow     time.Duration `json:"-"`                  // provider_idempotent: how long the provider honours a key
	ClientTimeout time.Duration `json:"-"`                  // the longest one request may take
	// IdentityFields are the top-level members of args that make two calls the
	// same call; empty = all of them.
	IdentityFields []string `json:"identity_fields,omitempty"`
	// ArgsSchema is a JSON Schema of args; workers check calls against it before
	// intent. nil = unchecked.
	ArgsSchema []byte `json:"-"`
	// DisplayFields are the members of args that the pages show; empty = all.
	DisplayFields []string `json:"display_fields,omitempty"`
	// CompensatedBy is the tool that undoes an effect of this one; empty = nothing
	// does.
	CompensatedBy string `json:"compensated_by,omitempty"`
	// CompensateRun: closing an effect of this tool as not landed asks the runtime
	// to undo the root run's completed effects.
	CompensateRun bool `json:"compensate_run,omitempty"`
}

// Limits of tools and requests; stated in the API document.
const (
	MaxNameBytes     = 120
	MaxClientTimeout = 24 * time.Hour
	MaxKeyWindow     = 400 * 24 * time.Hour
)

// Validate returns an *InvalidError for the first field that can't be used.
// The message says what to do.
func (t Tool) Validate() error {
	if err := ValidateName("name", t.Name); err != nil {
		return err
	}
	if t.Class == "" {
		return invalid("class", "is missing: a tool must say how it may be retried (read_only, provider_idempotent, journal_deduped or at_most_once)")
	}
	if !t.Class.Valid() {
		return invalid("class", fmt.Sprintf("%q is none of read_only, provider_idempotent, journal_deduped, at_most_once", t.Class))
	}
	if t.Provider != "" {
		if err := ValidateName("provider", t.Provider); err != nil {
			return err
		}
	}
	if t.Class != ClassReadOnly && t.ClientTimeout <= 0 {
		return invalid("client_timeout", "is missing: say how long one request may take, in milliseconds")
	}
	if t.ClientTimeout < 0 || t.ClientTimeout > MaxClientTimeout {
		return invalid("client_timeout", "must lie between 1 ms and 24 h")
	}
	if t.Class == ClassProviderIdempotent && t.KeyWindow <= 0 {
		return invalid("key_window", "is missing: a provider_idempotent tool must say for how long the provider honours a key")
	}
	if t.KeyWindow < 0 || t.KeyWindow > MaxKeyWindow {
		return invalid("key_window", "must lie between 1 ms and 400 days")
	}
	if err := t.validateCompensation(); err != nil {
		return err
	}
	for _, f := range append(append([]string{}, t.IdentityFields...), t.DisplayFields...) {
		if f == "" || len(f) > MaxNameBytes {
			return invalid("identity_fields", "and display_fields hold names of 1 to 120 bytes")
		}
	}
	return nil
}

// ValidateName checks a short machine name: 1 to 120 bytes of letters, digits
// and . _ - / : with none of them odd at the start.
func ValidateName(field, s string) error {
	if s == "" {
		return invalid(field, "is empty")
	}
	if len(s) > MaxNameBytes {
		return invalid(field, fmt.Sprintf("has %d bytes, at most %d are allowed", len(s), MaxNameBytes))
	}
	for i := range len(s) {
		c := s[i]
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || !strings.ContainsRune("._-/:", rune(c))) {
			return invalid(field, fmt.Sprintf("%q may hold letters, digits and . _ - / : and begins with a letter or digit", s))
		}
	}
	return nil
}
