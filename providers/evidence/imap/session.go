package imap

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

var errBadAnswer = errors.New("the server's answer makes no sense")

// session is one logged-in connection, used by one look at a time.
type session struct {
	*adapter
	conn   *meteredConn
	stream net.Conn   // conn, or TLS over it
	aside  *asideConn // nil with STARTTLS
	client *imapclient.Client

	can       abilities
	mailboxes []mailbox
	noMailbox string // why there is none
	broken    bool   // the connection can't be used any more
	secrets   []string
	exchanges []journal.Exchange // not yet handed out
}

var _ evidence.Session = (*session)(nil)

// hide remembers what must never show, in every form in which it is sent.
func (s *session) hide(password string) {
	if password == "" {
		return
	}
	s.secrets = append(s.secrets, password, base64.StdEncoding.EncodeToString(s.plain(password)))
}

// plain is the initial response of SASL PLAIN (RFC 4616).
func (s *session) plain(password string) []byte {
	return []byte("\x00" + s.cfg.Username + "\x00" + password)
}

// guard ends the connection when ctx does: that is the only way to stop a
// command that waits for a server. The returned function ends the watch.
func (s *session) guard(ctx context.Context) func() {
	stop := context.AfterFunc(ctx, func() { s.conn.Close() })
	return func() {
		if !stop() {
			s.broken = true
		}
	}
}

// do runs one command and records it. request is its text as people may read it.
func (s *session) do(request string, run func() (string, error)) error {
	start := time.Now()
	response, err := run()
	if err != nil {
		response = err.Error()
		if ended := s.conn.ended(); ended != nil && status(err) == nil {
			response = netText(ended)
		}
	}
	s.record(start, request, response)
	return err
}

// maxExchanges bounds the transcript of one look; a scan has the most commands.
const maxExchanges = 200

func (s *session) record(start time.Time, request, response string) {
	if len(s.exchanges) >= maxExchanges {
		return
	}
	s.exchanges = append(s.exchanges, journal.Exchange{
		Request:  evidence.CapText(s.clean(request, evidence.MaxExchangeBytes)),
		Response: evidence.CapText(s.clean(response, evidence.MaxExchangeBytes)),
		Took:     time.Since(start),
	})
}

func (s *session) takeExchanges() []journal.Exchange {
	x := s.exchanges
	s.exchanges = nil
	return x
}

// login prefers PLAIN, which says how non-ASCII passwords are written.
func (s *session) login(ctx context.Context, password string) error {
	caps := s.client.Caps()
	var err error
	switch {
	case caps.Has(goimap.AuthCap("PLAIN")):
		err = s.do(fmt.Sprintf("AUTHENTICATE PLAIN (user %q, password hidden)", s.cfg.Username), func() (string, error) {
			return "OK", s.client.Authenticate(plainAuth(s.plain(password)))
		})
	case caps != nil && !caps.Has(goimap.CapLoginDisabled):
		err = s.do(fmt.Sprintf("LOGIN %q (password hidden)", s.cfg.Username), func() (string, error) {
			return "OK", s.client.Login(s.cfg.Username, password).Wait()
		})
	case caps == nil && s.conn.ended() != nil:
		return s.fault(ctx, "asking for capabilities", s.conn.ended())
	default:
		return s.fault(ctx, "logging in", fmt.Errorf("%w: it offers no way to log in with a password", errBadAnswer))
	}
	if err == nil {
		return nil
	}
	ferr := s.fault(ctx, "logging in as "+s.cfg.Username, err)
	var pe *evidence.ProviderError
	if st := status(err); st != nil && st.Type == goimap.StatusResponseTypeNo && (st.Code == "" || st.Code == goimap.ResponseCodeAlert) &&
		errors.As(ferr, &pe) && pe.Kind == evidence.FaultRefused {
		pe.Kind = evidence.FaultAuth // a NO that says no more: credentials (RFC 3501, 6.2.3)
	}
	return ferr
}

// plainAuth is a SASL client that has everything to say in its first response.
type plainAuth []byte

func (p plainAuth) Start() (string, []byte, error) { return "PLAIN", p, nil }

func (p plainAuth) Next([]byte) ([]byte, error) {
	return nil, fmt.Errorf("%w: a challenge after PLAIN", errBadAnswer)
}

// closeTimeout is how long Close waits for the server's good-bye.
const closeTimeout = 2 * time.Second

// Close logs out and ends the connection. A server that doesn't answer is left.
func (s *session) Close() error {
	if s.client != nil && !s.broken {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		defer s.guard(ctx)()
		_ = s.client.Logout().Wait() // good manners only: the session is over either way
	}
	s.abandon()
	return nil
}

// abandon ends the connection and waits for the reader to stop.
func (s *session) abandon() {
	s.broken = true
	if s.conn == nil || s.conn.Conn == nil {
		return
	}
	s.conn.Close()
	if s.client != nil {
		_ = s.client.Close() // says that it is closed, which is what we want
	}
}
