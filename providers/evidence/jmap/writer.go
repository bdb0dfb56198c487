package jmap

import (
	"errors"
	"fmt"

	"github.com/landedhq/landed/journal"
)

// The kinds of handles that a worker journals: the id of the message that it
// created, before it submits it, and the id of the submission.
const (
	HandleEmail      = "email"
	HandleSubmission = "email_submission"
)

// Properties returns what a worker adds to the message in Email/set "create", and
// is, with the handles, all that it must get right. Empty header and domain =
// DefaultRefHeader and DefaultDomain; both must be the adapter's.
func Properties(header, domain, ref string) (map[string]any, error) {
	if !journal.ValidRef(ref) {
		return nil, errors.New("jmap: the reference is not 32 lower-case hex digits")
	}
	if header == "" {
		header = DefaultRefHeader
	}
	if domain == "" {
		domain = DefaultDomain
	}
	if err := checkCarrier(header, domain); err != nil {
		return nil, fmt.Errorf("jmap: %w", err)
	}
	return map[string]any{"messageId": []string{ref + "@" + domain}, "header:" + header + ":asText": ref}, nil
}
