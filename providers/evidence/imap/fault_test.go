package imap_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/imap/imaptest"
)

func wantFault(t *testing.T, err error, kind evidence.FaultKind) *evidence.ProviderError {
	t.Helper()
	var pe *evidence.ProviderError
	if !errors.As(err, &pe) {
		t.Fatalf("error %v, want a ProviderError", err)
	}
	if pe.Kind != kind {
		t.Errorf("kind %s (%s), want %s", pe.Kind, pe.Detail, kind)
	}
	if len(pe.Exchanges) == 0 {
		t.Error("the error has no transcript")
	}
	text := fmt.Sprintf("%+v %+v", pe, pe.Exchanges)
	if strings.Contains(text, imaptest.Password) {
		t.Errorf("the password shows: %s", text)
	}
	return pe
}

// look opens a session and asks once, and returns the first error.
func look(t *testing.T, ctx context.Context, srv *imaptest.Server) (evidence.Answer, error) {
	t.Helper()
	s, err := open(t, config(srv.Addr())).Session(ctx)
	if err != nil {
		return evidence.Answer{}, err
	}
	defer s.Close()
	return s.Find(ctx, query(journal.RandomRef()))
}

func TestFaultKinds(t *testing.T) {
	t.Parallel()
	const garbage = "* 1 FETCH (((\r\n% ???\r\n"
	for _, c := range []struct {
		name   string
		script imaptest.Script
		want   evidence.FaultKind
	}{
		{"login NO without a code", imaptest.Answer("LOGIN", "$TAG NO no\r\n"), evidence.FaultAuth},
		{"login AUTHENTICATIONFAILED", imaptest.Answer("LOGIN", "$TAG NO [AUTHENTICATIONFAILED] no\r\n"), evidence.FaultAuth},
		{"login AUTHORIZATIONFAILED", imaptest.Answer("LOGIN", "$TAG NO [AUTHORIZATIONFAILED] no\r\n"), evidence.FaultForbidden},
		{"login UNAVAILABLE", imaptest.Answer("LOGIN", "$TAG NO [UNAVAILABLE] later\r\n"), evidence.FaultUnavailable},
		{"login LIMIT", imaptest.Answer("LOGIN", "$TAG NO [LIMIT] too many connections\r\n"), evidence.FaultRateLimited},
		{"login BAD", imaptest.Answer("LOGIN", "$TAG BAD what?\r\n"), evidence.FaultRefused},
		{"list refused", imaptest.Answer("LIST", "$TAG NO no\r\n"), evidence.FaultRefused},
		{"garbage at login", imaptest.Answer("LOGIN", garbage), evidence.FaultBadAnswer},
		{"garbage at examine", imaptest.Answer("EXAMINE", garbage), evidence.FaultBadAnswer},
		{"garbage at search", imaptest.Answer("UID SEARCH", "* SEARCH 1 two\r\n$TAG OK\r\n"), evidence.FaultBadAnswer},
		{"garbage at fetch", imaptest.Answer("FETCH", "* 1 FETCH (UID x)\r\n$TAG OK\r\n"), evidence.FaultBadAnswer},
		{"dropped at list", imaptest.At("LIST", imaptest.Drop), evidence.FaultUnavailable},
		{"dropped midway in search", imaptest.DropMidway("UID SEARCH", "* SEARCH 1"), evidence.FaultUnavailable},
		{"dropped midway in a literal", imaptest.DropMidway("FETCH", "* 1 FETCH (UID 100 BODY[HEADER.FIELDS (A)] {99}\r\nX-Lan"), evidence.FaultUnavailable},
		{"endless search", imaptest.Endless("UID SEARCH", "* SEARCH", " 7 8 9"), evidence.FaultTooLarge},
		{"endless literal", imaptest.Endless("FETCH", "* 1 FETCH (UID 100 BODY[HEADER.FIELDS (A)] {99999999999}\r\n", "X-Pad: pad\r\n"), evidence.FaultTooLarge},
		{"endless line", imaptest.Endless("EXAMINE", "* OK ", "blah "), evidence.FaultTooLarge},
		{"endless list", imaptest.Endless("LIST", "", "* LIST () \"/\" \"x\"\r\n"), evidence.FaultTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			srv := imaptest.NewServer(t, c.script)
			srv.Add(time.Now(), "", carry(journal.RandomRef()))
			_, err := look(t, t.Context(), srv)
			wantFault(t, err, c.want)
		})
	}
}

func TestGreetings(t *testing.T) {
	t.Parallel()
	for greeting, want := range map[string]evidence.FaultKind{
		"* BYE too busy\r\n":                     evidence.FaultUnavailable,
		"* BYE [UNAVAILABLE] maintenance\r\n":    evidence.FaultUnavailable,
		"* PREAUTH welcome, whoever you are\r\n": evidence.FaultBadAnswer,
		"220 smtp.example.org ESMTP\r\n":         evidence.FaultBadAnswer,
		"HTTP/1.1 400 Bad Request\r\n\r\n":       evidence.FaultBadAnswer,
	} {
		srv := imaptest.NewServer(t, nil, func(s *imaptest.Server) { s.Greeting = greeting })
		_, err := look(t, t.Context(), srv)
		wantFault(t, err, want)
	}
}

func TestRefusedCredentialsShowNoSecretEvenIfTheServerEchoesIt(t *testing.T) {
	t.Parallel()
	for _, caps := range []string{"IMAP4rev1", "IMAP4rev1 AUTH=PLAIN", "IMAP4rev1 AUTH=PLAIN SASL-IR LOGINDISABLED"} {
		srv := imaptest.NewServer(t, nil, func(s *imaptest.Server) { s.Caps = caps })
		cfg := config(srv.Addr())
		cfg.Username = "mallory"
		_, err := open(t, cfg).Session(t.Context())
		wantFault(t, err, evidence.FaultAuth)
	}
	srv := imaptest.NewServer(t, nil, func(s *imaptest.Server) { s.Caps = "IMAP4rev1 LOGINDISABLED" })
	_, err := open(t, config(srv.Addr())).Session(t.Context())
	if pe := wantFault(t, err, evidence.FaultBadAnswer); !strings.Contains(pe.Detail, "no way to log in") {
		t.Errorf("detail %q", pe.Detail)
	}
}

func TestHangEndsWithTheContextAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"LOGIN", "LIST", "EXAMINE", "UID SEARCH", "FETCH"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			srv := imaptest.NewServer(t, imaptest.At(verb, imaptest.Hang))
			srv.Add(time.Now(), "", carry(journal.RandomRef()))
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			start := time.Now()
			_, err := look(t, ctx, srv)
			wantFault(t, err, evidence.FaultUnavailable)
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
				t.Errorf("after %v: %v, want the deadline", time.Since(start), err)
			}
		})
	}
}

func TestOwnTimeoutEndsALook(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, imaptest.At("EXAMINE", imaptest.Hang))
	cfg := config(srv.Addr())
	cfg.Timeout = 200 * time.Millisecond
	s := session(t, cfg)
	_, err := s.Find(t.Context(), query(journal.RandomRef()))
	wantFault(t, err, evidence.FaultUnavailable)
	if _, err = s.Find(t.Context(), query(journal.RandomRef())); err == nil {
		t.Error("a session whose connection is gone answered")
	}
}

func TestCloseDoesNotWaitForAServerThatHangs(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, imaptest.At("LOGOUT", imaptest.Hang))
	s := session(t, config(srv.Addr()))
	start := time.Now()
	if err := s.Close(); err != nil || time.Since(start) > 10*time.Second {
		t.Errorf("Close took %v: %v", time.Since(start), err)
	}
}

func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	_, err := open(t, config("127.0.0.1:1")).Session(t.Context())
	wantFault(t, err, evidence.FaultUnavailable)
}
