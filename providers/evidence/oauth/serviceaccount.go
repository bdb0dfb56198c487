package oauth

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// assertionLife is how long an assertion holds; Google takes an hour at most.
const assertionLife = 10 * time.Minute

// ServiceAccount is the key of an application that may act for people of its
// domain.
type ServiceAccount struct {
	Email string
	keyID string
	key   *rsa.PrivateKey
}

// ParseServiceAccount reads the key file that Google's console gives out. The
// file's token address must be tokenURL: the assertion goes nowhere else. Errors
// hold nothing of the file.
func ParseServiceAccount(file string, tokenURL *url.URL) (*ServiceAccount, error) {
	var in struct {
		Type     string `json:"type"`
		Email    string `json:"client_email"`
		KeyID    string `json:"private_key_id"`
		Key      string `json:"private_key"`
		TokenURI string `json:"token_uri"`
	}
	if json.Unmarshal([]byte(file), &in) != nil {
		return nil, errors.New("the service account's key is no JSON: give the whole key file")
	}
	switch {
	case in.Type != "service_account" || in.Email == "" || in.Key == "":
		return nil, errors.New("the key file is none of a service account: type, client_email and private_key are needed")
	case in.TokenURI != "" && in.TokenURI != tokenURL.String():
		return nil, fmt.Errorf("the key file names another token address than %s", tokenURL)
	}
	block, _ := pem.Decode([]byte(in.Key))
	if block == nil {
		return nil, errors.New("the key file's private_key is not PEM")
	}
	k, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("the key file's private_key can't be read")
	}
	key, ok := k.(*rsa.PrivateKey)
	if !ok || key.N.BitLen() < 2048 {
		return nil, errors.New("the key file's private_key is no RSA key of at least 2048 bits")
	}
	return &ServiceAccount{Email: in.Email, keyID: in.KeyID, key: key}, nil
}

// Assertion is the grant by which the account acts for subject with scope. It is
// signed with RS256 and names tokenURL as its audience.
func (a *ServiceAccount) Assertion(tokenURL *url.URL, scope, subject string, now time.Time) (Grant, error) {
	head, err := segment(map[string]any{"alg": "RS256", "typ": "JWT", "kid": a.keyID})
	if err != nil {
		return Grant{}, err
	}
	claims, err := segment(map[string]any{"iss": a.Email, "sub": subject, "scope": scope, "aud": tokenURL.String(),
		"iat": now.Unix(), "exp": now.Add(assertionLife).Unix()})
	if err != nil {
		return Grant{}, err
	}
	sum := sha256.Sum256([]byte(head + "." + claims))
	sig, err := rsa.SignPKCS1v15(rand.Reader, a.key, crypto.SHA256, sum[:])
	if err != nil {
		return Grant{}, errors.New("the assertion can't be signed")
	}
	return Grant{URL: tokenURL, Form: url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"},
		"assertion":  {head + "." + claims + "." + base64.RawURLEncoding.EncodeToString(sig)},
	}}, nil
}

func segment(v map[string]any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encoding the assertion: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}
