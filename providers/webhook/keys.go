package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Prefixes of keys in text form.
const (
	prefixSecret  = "whsec_" // shared secret, HMAC-SHA256
	prefixPrivate = "whsk_"  // ed25519, for the sender
	prefixPublic  = "whpk_"  // ed25519, for receivers
)

// Bounds of a shared secret in bytes.
const (
	minSecret = 24
	maxSecret = 64
)

func decodeKey(prefix, s string) ([]byte, error) {
	text, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return nil, fmt.Errorf("must begin with %s", prefix)
	}
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("is not base64 after %s", prefix) // the cause would quote the key
	}
	return b, nil
}

func parseSecret(s string) ([]byte, error) {
	b, err := decodeKey(prefixSecret, s)
	if err != nil {
		return nil, err
	}
	if len(b) < minSecret || len(b) > maxSecret {
		return nil, fmt.Errorf("holds %d bytes: make one with %d to %d random bytes (for example: echo %s$(openssl rand -base64 32))", len(b), minSecret, maxSecret, prefixSecret)
	}
	return b, nil
}

// parsePrivate accepts the 32-byte seed, and seed and public key together.
func parsePrivate(s string) (ed25519.PrivateKey, error) {
	b, err := decodeKey(prefixPrivate, s)
	if err != nil {
		return nil, err
	}
	switch len(b) {
	case ed25519.SeedSize:
		return ed25519.NewKeyFromSeed(b), nil
	case ed25519.PrivateKeySize:
		key := ed25519.NewKeyFromSeed(b[:ed25519.SeedSize])
		if !hmac.Equal(key, b) {
			return nil, errors.New("holds two halves that do not belong together")
		}
		return key, nil
	}
	return nil, fmt.Errorf("holds %d bytes: an ed25519 key has 32, or 64 with its public half", len(b))
}

func parsePublic(s string) (ed25519.PublicKey, error) {
	b, err := decodeKey(prefixPublic, s)
	if err != nil {
		return nil, err
	}
	if len(b) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("holds %d bytes: an ed25519 public key has 32", len(b))
	}
	return b, nil
}

// signed is the content that both signatures cover.
func signed(id string, unix int64, body []byte) []byte {
	return append([]byte(id+"."+strconv.FormatInt(unix, 10)+"."), body...)
}

func mac(secret, content []byte) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write(content)
	return m.Sum(nil)
}

func signV1(secret, content []byte) string {
	return "v1," + base64.StdEncoding.EncodeToString(mac(secret, content))
}

func signV1a(key ed25519.PrivateKey, content []byte) string {
	return "v1a," + base64.StdEncoding.EncodeToString(ed25519.Sign(key, content))
}
