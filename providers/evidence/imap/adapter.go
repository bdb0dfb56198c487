package imap

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/landedhq/landed/providers/evidence"
)

// adapter is one configured account. It holds no connection.
type adapter struct {
	cfg  Config
	host string
}

var _ evidence.Adapter = (*adapter)(nil)

const notAppended = "Neither does the sending path append each mail to the Sent folder as a journaled step, nor is the " +
	"provider said to save it there, so a mail can leave without a copy there: its absence proves nothing."

// Sheet returns the capability sheet; the package documentation has its sources.
func (a *adapter) Sheet() evidence.Sheet {
	sh := evidence.Sheet{
		Kind:              Kind,
		Version:           a.cfg.version(),
		Class:             evidence.L2,
		ProcessingHorizon: a.cfg.ProcessingHorizon,
		IndexLag:          a.cfg.IndexLag,
		Scopes:            []string{a.scopeName()},
		Mode:              "live",
		Conclusive:        a.cfg.SentAppended || a.cfg.SentSaved,
	}
	if !sh.Conclusive {
		sh.InconclusiveWhy = notAppended
	}
	return sh
}

// account names the account that is looked into: it may not be the one that sends.
func (a *adapter) account() string { return a.cfg.Username + " at " + a.host }

func (a *adapter) scopeName() string {
	if a.cfg.Mailbox != "" {
		return fmt.Sprintf("mailbox %q of %s", a.cfg.Mailbox, a.account())
	}
	return "Sent folder of " + a.account()
}

// Session connects, logs in and finds the Sent folder.
func (a *adapter) Session(ctx context.Context) (evidence.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timeout)
	defer cancel()
	s := &session{adapter: a}
	if err := s.open(ctx); err != nil {
		s.abandon()
		return nil, err
	}
	return s, nil
}

func (s *session) open(ctx context.Context) error {
	password, err := s.cfg.Password()
	if err != nil {
		return fmt.Errorf("imap: reading the password: %w", err)
	}
	s.hide(password)
	if err := checkText("password", password, 1000); err != nil {
		return fmt.Errorf("imap: %w", err)
	}
	if err := s.dial(ctx); err != nil {
		return err
	}
	defer s.guard(ctx)()
	if err := s.greet(ctx); err != nil {
		return err
	}
	if err := s.login(ctx, password); err != nil {
		return err
	}
	if err := s.learn(ctx); err != nil {
		return err
	}
	return s.findMailboxes(ctx)
}

// dial connects, and for implicit TLS shakes hands.
func (s *session) dial(ctx context.Context) error {
	start := time.Now()
	d := net.Dialer{Timeout: s.cfg.DialTimeout}
	raw, err := d.DialContext(ctx, "tcp", s.cfg.Address)
	s.conn = &meteredConn{Conn: raw}
	if err != nil {
		s.conn.err = err
		s.record(start, fmt.Sprintf("connect to %s (tls %s)", s.cfg.Address, s.cfg.TLS), netText(err))
		return s.fault(ctx, "connecting", err)
	}
	s.conn.refill(s.cfg.lookBytes())
	s.record(start, fmt.Sprintf("connect to %s (tls %s)", s.cfg.Address, s.cfg.TLS), "connected to "+raw.RemoteAddr().String())
	if s.cfg.TLS == TLSNone && !nearbyConn(raw) {
		return &evidence.ProviderError{
			Kind:      evidence.FaultRefused,
			Detail:    fmt.Sprintf("%s is neither a loopback nor a private address: tls none is refused, nothing was sent", raw.RemoteAddr()),
			Exchanges: s.takeExchanges(),
		}
	}
	if s.cfg.TLS != TLSImplicit {
		s.stream = s.conn
		return nil
	}
	tc := tls.Client(s.conn, s.tlsConfig())
	s.stream = tc
	if err := tc.HandshakeContext(ctx); err != nil {
		return s.tlsFault(ctx, err)
	}
	return nil
}

func (s *session) tlsConfig() *tls.Config {
	return &tls.Config{ServerName: s.host, RootCAs: s.cfg.RootCAs, MinVersion: tls.VersionTLS12}
}

// tlsFault keeps certificate errors apart from a line that broke: they need a
// person, but like it they say nothing about the mail.
func (s *session) tlsFault(ctx context.Context, err error) error {
	var cert *tls.CertificateVerificationError
	if errors.As(err, &cert) {
		s.conn.fail(fmt.Errorf("the server's certificate is not trusted: %w", cert.Err))
	} else if status(err) == nil {
		s.conn.fail(err)
	}
	return s.fault(ctx, "starting TLS", err)
}

func nearbyConn(c net.Conn) bool {
	ap, err := netip.ParseAddrPort(c.RemoteAddr().String())
	return err == nil && nearby(ap.Addr())
}

// greet waits for the greeting; for STARTTLS it also upgrades.
func (s *session) greet(ctx context.Context) error {
	if s.cfg.TLS == TLSStartTLS {
		err := s.do("STARTTLS", func() (string, error) {
			c, err := imapclient.NewStartTLS(s.stream, &imapclient.Options{TLSConfig: s.tlsConfig()})
			s.client = c
			return "OK", err
		})
		if err != nil {
			return s.tlsFault(ctx, err)
		}
		return nil
	}
	s.aside = newAside(s.stream)
	s.client = imapclient.New(s.aside, nil)
	err := s.do("(greeting)", func() (string, error) {
		if err := s.client.WaitGreeting(); err != nil {
			return "", err
		}
		if s.client.State() != goimap.ConnStateNotAuthenticated {
			// PREAUTH: whose mailboxes these are can't be known.
			return "", fmt.Errorf("%w: logged in before asking who we are", errBadAnswer)
		}
		return "OK", nil
	})
	if err != nil {
		return s.fault(ctx, "waiting for the greeting", err)
	}
	return nil
}
