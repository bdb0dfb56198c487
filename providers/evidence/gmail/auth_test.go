package gmail_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/gmail/gmailfake"
)

// keyFile is what Google's console gives out for a service account.
func keyFile(t *testing.T, key *rsa.PrivateKey, tokenURL string) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "landed@project.iam.example", "private_key_id": "k1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": tokenURL})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestServiceAccountActsForTheMailbox(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	account, ref := gmailfake.New(mailbox), journal.RandomRef()
	account.Key = &key.PublicKey
	account.Send(gmailfake.Message{Ref: ref, Body: ref})
	c := serve(t, account)
	c.ClientID, c.ClientSecret, c.RefreshToken = "", nil, nil
	c.ServiceAccount = evidence.Fixed(keyFile(t, key, c.TokenURL))
	a := open(t, c)
	for range 2 {
		ans, err := find(t, a, ref)
		if err != nil || len(ans.Matches) != 1 {
			t.Fatalf("matches %+v, %v", ans.Matches, err)
		}
	}
	if account.Tokens() != 1 {
		t.Errorf("%d token requests, want one for both looks", account.Tokens())
	}
	c.Mailbox = "else@shop.example" // not delegated: the fake takes no assertion for it
	_, err = find(t, open(t, c), ref)
	if pe := fault(t, err); pe.Kind != evidence.FaultAuth || !strings.Contains(pe.Detail, "invalid_grant") {
		t.Errorf("fault %+v", pe)
	}
	for name, file := range map[string]string{
		"another token address": keyFile(t, key, "https://tokens.evil.example/token"), "no JSON": "-----BEGIN", "a client's secrets": `{"installed":{}}`,
	} {
		c.ServiceAccount = evidence.Fixed(file)
		if _, err := open(t, c).Session(t.Context()); err == nil || strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A token that is refused is not used again.
func TestRefusedTokenIsAskedForAnew(t *testing.T) {
	t.Parallel()
	account := gmailfake.New(mailbox)
	a := open(t, serve(t, account))
	if _, err := find(t, a, journal.RandomRef()); err != nil {
		t.Fatal(err)
	}
	account.Revoke("ya29.next")
	_, err := find(t, a, journal.RandomRef())
	if pe := fault(t, err); pe.Kind != evidence.FaultAuth {
		t.Errorf("fault %+v", pe)
	}
	if _, err := find(t, a, journal.RandomRef()); err != nil || account.Tokens() != 2 {
		t.Errorf("%v, %d token requests", err, account.Tokens())
	}
}
