package client

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client/wire"
)

// What makes a 200 no answer of a journal.
var (
	errNoDirective = errors.New("it holds no directive")
	errNoState     = errors.New("it holds no state")
)

// StatusError is an answer that no error of package journal stands for: no
// valid token (401), another namespace (403), a fault of the server (500), or
// something that is no journal at all.
type StatusError struct {
	Status    int
	Code      string // of the problem document; empty if there was none
	Detail    string
	RequestID string // under which the server logged it
}

func (e *StatusError) Error() string {
	s := fmt.Sprintf("the journal answered %d", e.Status)
	if e.Code != "" {
		s += " " + e.Code
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.RequestID != "" {
		s += " (request " + e.RequestID + ")"
	}
	return s
}

// sentinel returns the error of package journal that a code stands for, or nil.
func sentinel(c wire.Code) error {
	switch c {
	case wire.CodeNotFound:
		return journal.ErrNotFound
	case wire.CodeClaimUsed:
		return journal.ErrClaimUsed
	case wire.CodeCommitConflict:
		return journal.ErrCommitConflict
	case wire.CodeSupersedesOpen:
		return journal.ErrSupersedesOpen
	case wire.CodeNotCompensable:
		return journal.ErrNotCompensable
	case wire.CodeConflict:
		return journal.ErrConflict
	case wire.CodeExpired:
		return journal.ErrExpired
	case wire.CodeNotJournaled:
		return journal.ErrNotJournaled
	case wire.CodeUnknownTool:
		return journal.ErrUnknownTool
	case wire.CodeUnknownAttempt:
		return journal.ErrUnknownAttempt
	case wire.CodeRestored:
		return journal.ErrRestored
	case wire.CodeUnavailable, wire.CodeTooManyWaiting:
		return journal.ErrUnavailable
	}
	return nil
}

// failure turns an answer that is no success into an error.
func (r reply) failure() error {
	kind, _, _ := mime.ParseMediaType(r.kind)
	var p wire.Problem
	err := errors.New("no problem document")
	if kind == wire.ProblemContentType {
		p, err = wire.DecodeProblem(r.body)
	}
	if err != nil || p.Code == "" { // a proxy's page, or no journal
		if s := r.status; s == http.StatusBadGateway || s == http.StatusServiceUnavailable || s == http.StatusGatewayTimeout || s == http.StatusTooManyRequests {
			return fmt.Errorf("%w: something before it answered %d", journal.ErrUnavailable, s)
		}
		return &StatusError{Status: r.status, Detail: "not an answer of a journal: check the address"}
	}
	if s := sentinel(p.Code); s != nil {
		return s
	}
	switch p.Code {
	case wire.CodeInvalid, wire.CodeTooLarge:
		return &journal.InvalidError{Field: p.Field, Detail: strings.TrimPrefix(p.Detail, p.Field+" ")}
	case wire.CodeKeyReused:
		return &journal.KeyReusedError{EffectID: p.EffectID, Tool: p.Tool, Fields: p.Fields}
	case wire.CodeLeaseLost:
		return &journal.LeaseLostError{EffectID: p.EffectID, State: p.State, Decision: p.Decision}
	}
	return &StatusError{Status: r.status, Code: string(p.Code), Detail: p.Detail, RequestID: p.RequestID}
}
