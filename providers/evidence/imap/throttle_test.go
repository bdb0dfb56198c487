package imap_test

import (
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/imap/imaptest"
)

// Servers that want to be left alone say so in many words, at any command. It is a
// fault with a wait: never "search can't be used", never "no such mailbox".
func TestThrottlingIsAFaultWithAWait(t *testing.T) {
	t.Parallel()
	const limited, down = evidence.FaultRateLimited, evidence.FaultUnavailable
	for _, row := range []struct {
		name, answer string
		kind         evidence.FaultKind
		wait         time.Duration
	}{
		{"Exchange, not connected", "BAD User is authenticated but not connected.", limited, 5 * time.Minute},
		{"Exchange, with its figure", "BAD Request is throttled. Suggested Backoff Time: 89117 milliseconds", limited, 89117 * time.Millisecond},
		{"Exchange, NO with its figure", "NO Request is throttled. Suggested Backoff Time: 299961 milliseconds", limited, 299961 * time.Millisecond},
		{"Exchange, an absurd figure", "NO Request is throttled. Suggested Backoff Time: 4294967295 milliseconds", limited, time.Hour},
		{"Exchange, no figure", "NO Request is throttled. Suggested Backoff Time: soon", limited, 5 * time.Minute},
		{"Exchange, unavailable", "NO Server Unavailable. 15", limited, 5 * time.Minute},
		{"Gmail, connections", "NO [ALERT] Too many simultaneous connections. (Failure)", limited, 5 * time.Minute},
		{"Gmail, bandwidth", "NO [OVERQUOTA] Account exceeded command or bandwidth limits. 51 (Failure)", limited, time.Hour},
		{"Gmail, throttled", "NO [THROTTLED] slow down", limited, 5 * time.Minute},
		{"Yahoo", "NO [LIMIT] UID SEARCH Rate limit hit.", limited, 5 * time.Minute},
		{"Dovecot, connections", "NO [UNAVAILABLE] Maximum number of connections from user+IP exceeded (mail_max_userip_connections=10)", limited, 5 * time.Minute},
		{"in use", "NO [INUSE] mailbox is locked", limited, time.Minute},
		{"a fault of its own", "NO [UNAVAILABLE] temporary failure", down, time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for _, verb := range []string{"LOGIN", "LIST", "EXAMINE", "UID SEARCH", "UID FETCH", "FETCH"} {
				srv := imaptest.NewServer(t, imaptest.Answer(verb, "$TAG "+row.answer+"\r\n"))
				ref := journal.RandomRef()
				srv.Add(time.Now(), "", carry(ref))
				s, err := open(t, config(srv.Addr())).Session(t.Context())
				if err == nil {
					asked := ref
					if verb == "FETCH" { // only read where nothing was found
						asked = journal.RandomRef()
					}
					_, err = s.Find(t.Context(), query(asked))
					_ = s.Close()
				}
				pe := wantFault(t, err, row.kind)
				if pe.RetryAfter != row.wait {
					t.Errorf("%s: wait %s, want %s", verb, pe.RetryAfter, row.wait)
				}
			}
		})
	}
}

// Gmail's commands run beside the library: they are throttled like any other.
func TestThrottlingOfGmailsOwnCommands(t *testing.T) {
	t.Parallel()
	for verb, part := range map[string]string{"ID": "", "UID SEARCH": "X-GM-RAW", "UID FETCH": "X-GM-MSGID"} {
		srv := imaptest.NewServer(t, imaptest.AnswerIf(verb, part, "$TAG NO [THROTTLED] slow down\r\n"), gmail)
		ref := journal.RandomRef()
		srv.Put(imaptest.Message{Date: time.Now(), ID: "1", Raw: header(ref)})
		s, err := open(t, config(srv.Addr())).Session(t.Context())
		if err == nil {
			_, err = s.Find(t.Context(), query(ref))
			_ = s.Close()
		}
		wantFault(t, err, evidence.FaultRateLimited)
	}
}

// Gmail says what is wrong with the credentials behind ALERT.
func TestAnAlertAtTheLoginIsAboutTheCredentials(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, imaptest.Answer("LOGIN", "$TAG NO [ALERT] Application-specific password required (Failure)\r\n"))
	_, err := open(t, config(srv.Addr())).Session(t.Context())
	if pe := wantFault(t, err, evidence.FaultAuth); pe.RetryAfter != 0 {
		t.Errorf("it waits %s for a person", pe.RetryAfter)
	}
}

// A throttled account that still answers is no fault: Gmail writes it behind OK.
func TestThrottledButAnswered(t *testing.T) {
	t.Parallel()
	srv := imaptest.NewServer(t, imaptest.Answer("NOOP", "$TAG OK Success [THROTTLED]\r\n"))
	ref := journal.RandomRef()
	srv.Add(time.Now(), "", carry(ref))
	if a := find(t, config(srv.Addr()), ref); len(a.Matches) != 1 {
		t.Errorf("answer %+v", a)
	}
}
