package journal

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxKeyBytes is the longest key. Postgres refuses index rows above 2,704
// bytes only for incompressible values, so the limit is stated, not met.
const MaxKeyBytes = 255

// ValidateKey reports why key can't identify an effect: a key is 1 to 255
// printable ASCII bytes with no space at either end. The error is an
// *InvalidError naming field "key".
func ValidateKey(key string) error {
	switch {
	case key == "":
		return invalid("key", "is empty: pass the idempotency key that the caller minted outside every retry")
	case len(key) > MaxKeyBytes:
		return invalid("key", fmt.Sprintf("has %d bytes, at most %d are allowed: use a hash of the long part", len(key), MaxKeyBytes))
	case strings.TrimSpace(key) == "":
		return invalid("key", "is blank")
	case key[0] == ' ' || key[len(key)-1] == ' ':
		return invalid("key", "begins or ends with a space")
	}
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return invalid("key", fmt.Sprintf("holds byte 0x%02x at position %d: only printable ASCII is allowed", key[i], i))
		}
	}
	return nil
}

// DeriveKey builds the key of one step's operation. It begins with the root
// run's id: keys of one run then sit together in the index, which keeps a large
// journal fast, and the effects of a spawned sub-agent share the root run's
// keys. item names the business object when one step acts on several; it may
// be empty. Parts are escaped so that ("a/b", "c") and ("a", "b/c") differ; a
// tail that would not fit in MaxKeyBytes is replaced by its hash.
func DeriveKey(rootRun, step, operation, item string) (string, error) {
	for _, p := range []struct{ name, v string }{{"root_run", rootRun}, {"step", step}, {"operation", operation}} {
		if strings.TrimSpace(p.v) == "" {
			return "", invalid(p.name, "is empty: a derived key needs root run, step and operation")
		}
	}
	root := escapeKeyPart(rootRun)
	tail := escapeKeyPart(step) + "/" + escapeKeyPart(operation)
	if item != "" {
		tail += "/" + escapeKeyPart(item)
	}
	if len(root) > 128 {
		root = root[:64] + "~" + hexHash(rootRun)[:32]
	}
	if len(root)+1+len(tail) > MaxKeyBytes {
		tail = "~" + hexHash(tail)
	}
	return root + "/" + tail, nil
}

func hexHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func escapeKeyPart(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= 0x20 || c > 0x7e || c == '/' || c == '%' || c == '~' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Ref returns the reference of an effect: 32 lower-case hex digits in UUID v4
// shape, a hash of (namespace, key). It is the only form ever written to a
// provider or put in a query, and it never changes.
func Ref(namespace, key string) string {
	b := append(make([]byte, 0, 512), "landed/ref/1\x00"...)
	b = append(strconv.AppendInt(b, int64(len(namespace)), 10), 0)
	b = append(append(append(b, namespace...), 0), key...)
	return uuidShape(sha256.Sum256(b))
}

// ProviderKey returns the provider's idempotency key of one issue of an
// effect. Automatic attempts keep it; every order but same_key adds one to the
// issue number and so changes it. Same shape as Ref.
func ProviderKey(ref string, issue int) string {
	b := append(make([]byte, 0, 64), "landed/provider-key/1\x00"...)
	b = append(append(b, ref...), 0)
	return uuidShape(sha256.Sum256(strconv.AppendInt(b, int64(issue), 10)))
}

func uuidShape(sum [sha256.Size]byte) string {
	u := sum[:16]
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return hex.EncodeToString(u)
}

// ValidRef reports whether s is 32 lower-case hex digits.
func ValidRef(s string) bool {
	if len(s) != 32 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Dashed returns ref in the 36-character form that some providers want.
func Dashed(ref string) string {
	if len(ref) != 32 {
		return ref
	}
	return ref[:8] + "-" + ref[8:12] + "-" + ref[12:16] + "-" + ref[16:20] + "-" + ref[20:]
}

// RandomRef returns a fresh reference that no effect has: the negative control
// of a look.
func RandomRef() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return uuidShape(b)
}

// NewToken returns 128 random bits as 32 hex digits: lease tokens and claim ids.
func NewToken() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// NewID returns a UUIDv7 (RFC 9562, section 5.7) at time now, in its
// 36-character form: the identity of effects, evidence, decisions, orders and
// deliveries. Its order is by millisecond, then random.
func NewID(now time.Time) string {
	var u [16]byte
	_, _ = rand.Read(u[:])
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		u[i] = byte(ms >> (40 - 8*i))
	}
	u[6] = u[6]&0x0f | 0x70
	u[8] = u[8]&0x3f | 0x80
	return Dashed(hex.EncodeToString(u[:]))
}

// ValidID reports whether s has the 36-character form of a UUID in lower case.
// A link may carry anything: ask before the database does.
func ValidID(s string) bool {
	return len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' &&
		ValidRef(strings.ReplaceAll(s, "-", ""))
}
