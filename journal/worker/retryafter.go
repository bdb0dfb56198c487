package worker

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// defaultRetryAfterCap bounds what a provider may ask for: a later try is the
// journal's business, not that of a header.
const defaultRetryAfterCap = time.Hour

func (c Classifier) retryAfter(r Response) time.Duration {
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	most := c.RetryAfterCap
	if most <= 0 {
		most = defaultRetryAfterCap
	}
	return RetryAfter(r.Header, r.Status, now(), most)
}

// RetryAfter reads how long the provider asks to wait, between 0 (nothing said,
// nothing readable, or a moment that has passed) and most. It knows
//   - Retry-After as seconds, whole or fractional, and as a date in the three
//     forms of RFC 9110, section 5.6.7, counted from the answer's own Date, so
//     that a wrong clock here does no harm;
//   - retry-after-ms and x-ms-retry-after-ms in milliseconds, as Azure's SDKs
//     read them (azure-sdk-for-js, core-rest-pipeline, throttlingRetryStrategy);
//   - on 403 and 429 with x-ratelimit-remaining: 0, x-ratelimit-reset: seconds
//     since 1970 as GitHub documents it
//     (https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api);
//     values too small for that are seconds from now, the form of the IETF
//     ratelimit-headers drafts.
func RetryAfter(h http.Header, status int, now time.Time, most time.Duration) time.Duration {
	for _, name := range []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		if n, ok := number(h.Get(name)); ok {
			return clampSeconds(n/1000, most)
		}
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	if v := strings.TrimSpace(h.Get("Retry-After")); v != "" {
		if n, ok := number(v); ok {
			return clampSeconds(n, most)
		}
		if at, err := http.ParseTime(v); err == nil {
			return min(max(at.Sub(now), 0), most)
		}
	}
	if (status == http.StatusTooManyRequests || status == http.StatusForbidden) && h.Get("X-Ratelimit-Remaining") == "0" {
		if n, ok := number(h.Get("X-Ratelimit-Reset")); ok {
			if n >= 1e9 {
				n -= float64(now.Unix())
			}
			return clampSeconds(n, most)
		}
	}
	return 0
}

func number(s string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if math.IsNaN(n) || err != nil && !math.IsInf(n, 0) { // too large to hold is still "very long"
		return 0, false
	}
	return n, true
}

// clampSeconds turns seconds into a duration without overflow.
func clampSeconds(s float64, most time.Duration) time.Duration {
	if s <= 0 {
		return 0
	}
	if s >= most.Seconds() {
		return most
	}
	return time.Duration(s * float64(time.Second))
}
