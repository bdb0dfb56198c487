package imap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/landedhq/landed/providers/evidence"
)

// status returns the server's NO or BAD answer inside err, or nil.
func status(err error) *goimap.Error {
	var e *goimap.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// fault turns err into what the contract asks for. doing completes "while …".
// The library's error stays behind: its text is the server's and may hold
// anything, so only the cleaned copy in Detail leaves this package.
func (s *session) fault(ctx context.Context, doing string, err error) error {
	pe := &evidence.ProviderError{Exchanges: s.takeExchanges()}
	var why string
	switch st, ended := status(err), s.conn.ended(); {
	case st != nil:
		pe.Kind, pe.RetryAfter = statusKind(st)
		why = "the server answered: " + st.Error()
		if strings.Contains(strings.ToLower(st.Text), notConnected) {
			why += " (Exchange says so after too many connections, and where this login may not read the mailbox by IMAP: see to the latter if it goes on)"
		}
	case ctx.Err() != nil:
		pe.Kind, pe.Err = evidence.FaultUnavailable, ctx.Err()
		why = "no answer in time"
		if errors.Is(ctx.Err(), context.Canceled) {
			why = "cancelled"
		}
	case errors.Is(ended, errTooMuch):
		pe.Kind, why = evidence.FaultTooLarge, fmt.Sprintf("the server sent more than %d bytes", s.cfg.lookBytes())
	case errors.Is(err, errBadAnswer), errors.Is(err, errEndlessLine):
		pe.Kind, why = evidence.FaultBadAnswer, err.Error()
	case ended != nil:
		pe.Kind, why = evidence.FaultUnavailable, "the connection broke: "+netText(ended)
	default:
		pe.Kind, why = evidence.FaultBadAnswer, "the answer can't be understood: "+err.Error()
	}
	s.broken = s.broken || status(err) == nil
	pe.Detail = fmt.Sprintf("%s while %s at %s", s.clean(why, 300), doing, s.cfg.Address)
	return pe
}

// statusKind reads a NO or BAD (RFC 5530 names the codes).
func statusKind(st *goimap.Error) (evidence.FaultKind, time.Duration) {
	if wait, ok := throttled(st); ok {
		if st.Code == goimap.ResponseCodeUnavailable && wait == waitUnavailable {
			return evidence.FaultUnavailable, wait
		}
		return evidence.FaultRateLimited, wait
	}
	switch st.Code {
	case goimap.ResponseCodeAuthenticationFailed, goimap.ResponseCodeExpired:
		return evidence.FaultAuth, 0
	case goimap.ResponseCodeAuthorizationFailed, goimap.ResponseCodeNoPerm,
		goimap.ResponseCodeContactAdmin, goimap.ResponseCodePrivacyRequired:
		return evidence.FaultForbidden, 0
	case goimap.ResponseCodeServerBug:
		return evidence.FaultUnavailable, 0
	}
	if st.Type == goimap.StatusResponseTypeBye {
		return evidence.FaultUnavailable, 0
	}
	return evidence.FaultRefused, 0
}

// netText says what happened without the addresses that net errors repeat.
func netText(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	return err.Error()
}

// clean makes server text fit for records: no secrets, one line, capped.
func (s *session) clean(text string, limit int) string {
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, "[hidden]")
	}
	return oneLine(text, limit)
}
