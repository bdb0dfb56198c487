package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// FingerprintRule is the version of the rule by which Fingerprint works; it is
// stored with each effect, so that a later rule can tell its own from old ones.
const FingerprintRule = 1

// CheckArgs reports why args can't be journaled: they must be one JSON value
// in valid UTF-8, without duplicate members, of at most 1 MiB and 200 levels.
// NUL and lone surrogates as escapes are fine: bytes are kept as they are. nil
// is fine. The error is an *InvalidError naming field "args".
func CheckArgs(args []byte) error {
	if args == nil {
		return nil
	}
	if err := checkArgsSize(args); err != nil {
		return err
	}
	if _, err := canonicalize(args); err != nil {
		return invalid("args", err.Error())
	}
	return nil
}

func checkArgsSize(args []byte) error {
	if len(args) > MaxArgsBytes {
		return invalid("args", fmt.Sprintf("has %d bytes, at most %d are allowed: journal a reference to the payload instead", len(args), MaxArgsBytes))
	}
	return nil
}

// Fingerprint returns the hex SHA-256 of the identity of a call: the members
// of args that the tool named (all, if it named none), in canonical form;
// without args, operation, subject, amount and currency. It refuses what
// CheckArgs refuses, with the same error.
func Fingerprint(identityFields []string, r BeginRequest) (string, error) {
	if err := checkArgsSize(r.Args); err != nil {
		return "", err
	}
	text, err := identityText(identityFields, r)
	if err != nil {
		return "", invalid("args", err.Error())
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:]), nil
}

func identityText(fields []string, r BeginRequest) (string, error) {
	if r.Args == nil {
		b, err := json.Marshal([]string{r.Operation, r.Subject, r.Amount, r.Currency})
		return string(b), err
	}
	if len(fields) == 0 {
		return canonicalize(r.Args)
	}
	members, ok, err := canonicalMembers(r.Args)
	if err != nil {
		return "", err
	}
	if !ok {
		return canonicalize(r.Args)
	}
	return joinMembers(slices.DeleteFunc(members, func(m member) bool { return !slices.Contains(fields, m.name) })), nil
}

// DiffArgs compares two args member by member and splits the differences into
// those of identity fields and the others (drift). Args that are not objects
// differ as a whole, under field "args". Unreadable args give no diff.
func DiffArgs(identityFields []string, was, now []byte) (identity, drift []FieldDiff) {
	a, okA := memberMap(was)
	b, okB := memberMap(now)
	if !okA || !okB {
		if string(was) == string(now) {
			return nil, nil
		}
		return []FieldDiff{{Field: "args", Was: string(was), Now: string(now)}}, nil
	}
	names := map[string]bool{}
	for n := range a {
		names[n] = true
	}
	for n := range b {
		names[n] = true
	}
	sorted := make([]string, 0, len(names))
	for n := range names {
		sorted = append(sorted, n)
	}
	slices.Sort(sorted)
	for _, n := range sorted {
		if a[n] == b[n] {
			continue
		}
		d := FieldDiff{Field: n, Was: a[n], Now: b[n]}
		if len(identityFields) == 0 || slices.Contains(identityFields, n) {
			identity = append(identity, d)
		} else {
			drift = append(drift, d)
		}
	}
	return identity, drift
}

func memberMap(raw []byte) (map[string]string, bool) {
	ms, ok, err := canonicalMembers(raw)
	if err != nil || !ok {
		return nil, false
	}
	out := make(map[string]string, len(ms))
	for _, m := range ms {
		out[m.name] = m.value
	}
	return out, true
}
