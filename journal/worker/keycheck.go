package worker

import (
	"bytes"
	"crypto/md5"  //nolint:gosec // recognises keys that were made with it
	"crypto/sha1" //nolint:gosec // recognises keys that were made with it
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// FindingKind names what is suspicious about a key.
type FindingKind string

// The kinds of findings.
const (
	FindingArgsHash  FindingKind = "key_is_args_hash"      // a model that rewords its arguments gets a new key
	FindingTime      FindingKind = "key_has_time"          // every retry gets a new key
	FindingAttempt   FindingKind = "key_counts_attempts"   // every retry gets a new key
	FindingCallID    FindingKind = "key_has_call_id"       // the framework makes a new id per attempt
	FindingUnstable  FindingKind = "key_random_per_call"   // minted inside the retry
	FindingPersonal  FindingKind = "key_has_personal_data" // keys are logged and shown
	FindingKeyInArgs FindingKind = "key_in_args"           // a key in the arguments protects nothing
)

// memoryOfUUIDSteps bounds how many steps with random keys are remembered.
const memoryOfUUIDSteps = 1024

// Finding is one suspicious call. It carries no part of the key: keys may hold
// what must not be logged.
type Finding struct {
	Kind   FindingKind
	Tool   string
	Detail string
}

// keyCheck warns of keys that were minted inside the retry or derived from what
// changes between attempts. It never refuses: the caller may know better.
type keyCheck struct {
	log  *slog.Logger
	hook func(Finding)

	mu     sync.Mutex
	warned map[FindingKind]bool
	seen   map[string]string // (root run, step, operation, item) → the random key used last
	order  []string          // of seen, oldest first
	rules  keyRules
}

type keyRules struct{ attempt, callID, mail, phone, number, stamp, uuid4 *regexp.Regexp }

func newKeyCheck(log *slog.Logger, hook func(Finding)) *keyCheck {
	return &keyCheck{
		log: log, hook: hook, warned: map[FindingKind]bool{}, seen: map[string]string{},
		rules: keyRules{
			attempt: regexp.MustCompile(`(?i)(attempt|retry|retries|try)[-_.:/#=]?\d+$`),
			callID:  regexp.MustCompile(`(?:^|[^A-Za-z0-9])(?:call|toolu|tooluse|fc|chatcmpl)[_-](?:[A-Za-z0-9_-]{16,}|\d+(?:$|[^A-Za-z0-9]))`),
			mail:    regexp.MustCompile(`[A-Za-z0-9._%+-]+(?:@|%40)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+`),
			phone:   regexp.MustCompile(`(?:^|[^0-9A-Za-z])\+\d{8,15}(?:$|\D)`),
			number:  regexp.MustCompile(`\d{10,19}`),
			stamp:   regexp.MustCompile(`(\d{4})-?(\d{2})-?(\d{2})[T_ ]?(\d{2})[:.-]?(\d{2})`),
			uuid4:   regexp.MustCompile(`(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$`),
		},
	}
}

// check looks at one call. What comes from the root run's id is left out: that
// may hold a time, as it stays the same for every retry.
func (k *keyCheck) check(call Call, key string) {
	text := call.Step + "/" + call.operation() + "/" + call.Item
	if call.Key != "" {
		text = key
		if len(call.Run.RootRun) > 3 {
			text = strings.ReplaceAll(key, call.Run.RootRun, "")
		}
	}
	now := time.Now()
	switch {
	case k.rules.callID.MatchString(text):
		k.report(FindingCallID, call.Tool, "it holds a framework's call id, which is new on every attempt: use the step and the business object")
	case k.rules.attempt.MatchString(text):
		k.report(FindingAttempt, call.Tool, "it ends with an attempt counter: mint it outside of the retry")
	case k.hasTime(text, now):
		k.report(FindingTime, call.Tool, "it holds the present time: mint it outside of the retry")
	}
	if isArgsHash(text, call.Args) {
		k.report(FindingArgsHash, call.Tool, "it is a hash of the arguments: a reworded argument would make a second effect")
	}
	if k.rules.mail.MatchString(text) || k.rules.phone.MatchString(text) {
		k.report(FindingPersonal, call.Tool, "it holds a mail address or telephone number: use the record's id")
	}
	if call.Key != "" && k.rules.uuid4.MatchString(call.Key) && k.changed(call) {
		k.report(FindingUnstable, call.Tool, "another random key was used for the same root run, step, operation and item: mint it outside of the retry")
	}
	if name := keyField(call.Args); name != "" {
		k.report(FindingKeyInArgs, call.Tool, "args hold "+strconv.Quote(name)+", which looks like an idempotency key: pass it as Call.Key, here it protects nothing")
	}
}

func (k *keyCheck) report(kind FindingKind, tool, detail string) {
	k.mu.Lock()
	first := !k.warned[kind]
	k.warned[kind] = true
	k.mu.Unlock()
	if first {
		k.log.Warn("suspicious idempotency key: "+detail, "kind", kind, "tool", tool)
	}
	if k.hook != nil {
		k.hook(Finding{Kind: kind, Tool: tool, Detail: detail})
	}
}

// changed remembers the random key of a step and reports whether it is another
// one than before. The memory is bounded, oldest out first.
func (k *keyCheck) changed(call Call) bool {
	at := strings.Join([]string{call.Namespace, call.Run.RootRun, call.Step, call.operation(), call.Item}, "\x00")
	k.mu.Lock()
	defer k.mu.Unlock()
	was, known := k.seen[at]
	k.seen[at] = call.Key
	if known {
		return was != call.Key
	}
	k.order = append(k.order, at)
	if len(k.order) > memoryOfUUIDSteps {
		delete(k.seen, k.order[0])
		k.order = k.order[1:]
	}
	return false
}

// hasTime looks for a Unix time in seconds to nanoseconds, or a date with a
// time of day, within a day of now. A mere date is fine: it may name a report.
func (k *keyCheck) hasTime(text string, now time.Time) bool {
	for _, m := range k.rules.number.FindAllString(text, -1) {
		n, err := strconv.ParseInt(m, 10, 64)
		if err != nil {
			continue
		}
		for _, unit := range []int64{1, 1e3, 1e6, 1e9} {
			if near(time.Unix(n/unit, 0), now) {
				return true
			}
		}
	}
	for _, m := range k.rules.stamp.FindAllStringSubmatch(text, -1) {
		t, err := time.Parse("200601021504", strings.Join(m[1:], ""))
		if err == nil && near(t, now) {
			return true
		}
	}
	return false
}

func near(t, now time.Time) bool {
	d := now.Sub(t)
	return d < 24*time.Hour && d > -24*time.Hour
}

// isArgsHash compares the key with hashes of the arguments as they are, without
// white space, and re-encoded with sorted members.
func isArgsHash(text string, args []byte) bool {
	if len(args) == 0 || len(text) < 16 {
		return false
	}
	text = strings.ToLower(strings.ReplaceAll(text, "-", ""))
	forms := [][]byte{args}
	var compact bytes.Buffer
	if json.Compact(&compact, args) == nil {
		forms = append(forms, compact.Bytes())
	}
	var value any
	if json.Unmarshal(args, &value) == nil {
		if sorted, err := json.Marshal(value); err == nil {
			forms = append(forms, sorted)
		}
	}
	for _, f := range forms {
		a, b, c := sha256.Sum256(f), sha1.Sum(f), md5.Sum(f) //nolint:gosec // see the import
		for _, sum := range [][]byte{a[:], b[:], c[:]} {
			if strings.Contains(text, hex.EncodeToString(sum)[:16]) {
				return true
			}
		}
	}
	return false
}

// keyField returns the name of a member, up to two levels deep, that looks like
// an idempotency key.
func keyField(args []byte) string {
	var top map[string]json.RawMessage
	if json.Unmarshal(args, &top) != nil {
		return ""
	}
	for name, raw := range top {
		if looksLikeKey(name) {
			return name
		}
		var inner map[string]json.RawMessage
		if json.Unmarshal(raw, &inner) != nil {
			continue
		}
		for name := range inner {
			if looksLikeKey(name) {
				return name
			}
		}
	}
	return ""
}

func looksLikeKey(name string) bool {
	plain := strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(strings.ToLower(name))
	switch plain {
	case "dedupekey", "dedupkey", "dedupeid", "dedupid", "deduplicationid", "deduplicationkey", "clientrequesttoken":
		return true
	}
	return strings.Contains(plain, "idempoten")
}
