package imap

import (
	"strconv"
	"strings"
	"time"

	goimap "github.com/emersion/go-imap/v2"
)

// How long a server is left alone that says no more than that it wants to be. The
// vendors name no figure for these; Exchange names one, which counts.
const (
	waitUnavailable = time.Minute     // a fault of its own, or too many connections
	waitThrottled   = 5 * time.Minute // Exchange's backoff is about that (its answers say 299 s)
	waitBandwidth   = time.Hour       // Gmail counts bytes by the day (support.google.com/a/answer/1071518)
	maxBackoff      = time.Hour
)

// notConnected is Exchange's answer to any command after a login that it accepted.
const notConnected = "authenticated but not connected"

// throttled reports whether an answer says nothing about the request but that it
// came too early or too often, and how long to wait. Codes are RFC 5530's, and
// Gmail's own THROTTLED; most servers say it in words.
func throttled(st *goimap.Error) (wait time.Duration, ok bool) {
	text := strings.ToLower(st.Text)
	if wait, ok := namedBackoff(text); ok {
		return wait, true
	}
	for _, w := range []struct {
		words string
		wait  time.Duration
	}{
		{"bandwidth limits", waitBandwidth},                  // Gmail, with OVERQUOTA
		{notConnected, waitThrottled},                        // Exchange
		{"request is throttled", waitThrottled},              // Exchange
		{"server unavailable. 15", waitThrottled},            // Exchange
		{"too many simultaneous connections", waitThrottled}, // Gmail, with ALERT
		{"maximum number of connections", waitThrottled},     // Dovecot, with UNAVAILABLE
		{"rate limit", waitThrottled},                        // Yahoo, with LIMIT
	} {
		if strings.Contains(text, w.words) {
			return w.wait, true
		}
	}
	switch st.Code {
	case "THROTTLED", goimap.ResponseCodeLimit, goimap.ResponseCodeOverQuota:
		return waitThrottled, true
	case goimap.ResponseCodeInUse, goimap.ResponseCodeUnavailable:
		return waitUnavailable, true
	}
	return 0, false
}

// namedBackoff reads Exchange's "Suggested Backoff Time: 299961 milliseconds".
func namedBackoff(text string) (time.Duration, bool) {
	_, rest, ok := strings.Cut(text, "suggested backoff time: ")
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest, " ")
	ms, err := strconv.ParseUint(digits, 10, 32)
	if err != nil {
		return waitThrottled, true
	}
	return min(time.Duration(ms)*time.Millisecond, maxBackoff), true
}
