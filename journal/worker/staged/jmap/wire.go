package jmap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged"
)

// The capabilities that every request uses (RFC 8620, section 2; RFC 8621,
// section 1.3).
const (
	capCore       = "urn:ietf:params:jmap:core"
	capMail       = "urn:ietf:params:jmap:mail"
	capSubmission = "urn:ietf:params:jmap:submission"
)

// account is where requests go.
type account struct {
	client *http.Client
	api    string
	id     string
	// Mailbox ids; sent and trash may be empty.
	drafts, sent, trash string
}

// open finds the account, its address and its mailboxes.
func (s Sender) open(ctx context.Context) (message, error) {
	var session struct {
		APIURL  string            `json:"apiUrl"`
		Primary map[string]string `json:"primaryAccounts"`
	}
	if s.IdentityID == "" {
		return message{}, errors.New("no identity is set to send by")
	}
	there, err := staged.Get(worker.Reading(ctx), s.Client, s.SessionURL, nil, &session)
	if err != nil || !there {
		return message{}, fmt.Errorf("reading the session: there %v: %w", there, orError(err))
	}
	m := message{identity: s.IdentityID, account: account{client: s.Client, id: or(s.AccountID, session.Primary[capMail])}}
	if m.api, err = resolve(s.SessionURL, session.APIURL); err != nil {
		return message{}, err
	}
	if m.id == "" {
		return message{}, errors.New("the session names no primary account for mail")
	}
	var boxes struct {
		List []struct {
			ID   string `json:"id"`
			Role string `json:"role"`
		} `json:"list"`
	}
	if _, err := m.call(ctx, invocation{"Mailbox/get", map[string]any{"ids": nil, "properties": []string{"id", "role"}}, &boxes}); err != nil {
		return message{}, fmt.Errorf("reading the mailboxes: %w", err)
	}
	for _, b := range boxes.List {
		switch b.Role {
		case "drafts":
			m.drafts = b.ID
		case "sent":
			m.sent = b.ID
		case "trash":
			m.trash = b.ID
		}
	}
	if m.drafts == "" {
		return message{}, errors.New("the account has no mailbox with the role drafts")
	}
	return m, nil
}

func orError(err error) error {
	if err == nil {
		return errors.New("no such resource")
	}
	return err
}

func resolve(session, api string) (string, error) {
	base, err := url.Parse(session)
	if err != nil {
		return "", err
	}
	u, err := base.Parse(api)
	if err != nil || api == "" {
		return "", fmt.Errorf("the session names no address for requests: %.80q", api)
	}
	return u.String(), nil
}

// invocation is one method call and where its response goes.
type invocation struct {
	name string
	args map[string]any
	out  any
}

// setError is why a set method did not create an object.
type setError struct {
	Type        string `json:"type"`
	Description string `json:"description"`
}

func (e setError) failure() error {
	return worker.Refused(fmt.Errorf("the mail server refused: %s %.300s", e.Type, e.Description), e.Type != "rateLimit")
}

// methodFailure is what an "error" response proves: nothing was changed, but for
// serverPartialFail. A type that is not known here reads as serverFail.
func methodFailure(name string, e setError) error {
	err := fmt.Errorf("%s failed: %s %.300s", name, e.Type, e.Description)
	switch e.Type {
	case "", "serverPartialFail":
		return worker.Unknown(err)
	case "unknownMethod", "invalidArguments", "invalidResultReference", "forbidden", "accountNotFound",
		"accountNotSupportedByMethod", "accountReadOnly", "requestTooLarge":
		return worker.Refused(err, true)
	}
	return worker.Refused(err, false)
}

// call sends one request with all invocations and decodes each one's response. It
// returns the body.
func (a account) call(ctx context.Context, list ...invocation) ([]byte, error) {
	calls := make([]any, 0, len(list))
	for i, c := range list {
		c.args["accountId"] = a.id
		calls = append(calls, []any{c.name, c.args, strconv.Itoa(i)})
	}
	body, err := json.Marshal(map[string]any{"using": []string{capCore, capMail, capSubmission}, "methodCalls": calls})
	if err != nil {
		return nil, worker.NotSent(err)
	}
	req, err := staged.Request(ctx, http.MethodPost, a.api, http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}, body)
	if err != nil {
		return nil, err
	}
	out, err := worker.Classifier{
		Parse: func(r worker.Response) (worker.Outcome, error) {
			return worker.Outcome{Result: r.Body}, decode(r.Body, list)
		},
		Judge: tooMany,
	}.Send(staged.Once(a.client), req)
	return out.Result, err
}

// tooMany knows the one failure of a request that passes by itself (RFC 8620,
// section 3.6.1).
func tooMany(r worker.Response) (worker.Verdict, bool) {
	var problem struct {
		Type  string `json:"type"`
		Limit string `json:"limit"`
	}
	if r.Status < 400 || json.Unmarshal(r.Body, &problem) != nil {
		return worker.Verdict{}, false
	}
	return worker.Verdict{Phase: journal.PhaseRefused, Meaning: worker.MeaningRateLimited},
		problem.Type == "urn:ietf:params:jmap:error:limit" && problem.Limit == "maxConcurrentRequests"
}

// decode takes each invocation's response from the answer: the first of its name
// under its call id, as a set method may be followed by an implicit one.
func decode(body []byte, list []invocation) error {
	var answer struct {
		Responses [][3]json.RawMessage `json:"methodResponses"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("the answer can't be understood: %w", err)
	}
	for i, c := range list {
		if err := decodeOne(answer.Responses, c, strconv.Itoa(i)); err != nil {
			return err
		}
	}
	return nil
}

func decodeOne(responses [][3]json.RawMessage, c invocation, id string) error {
	for _, r := range responses {
		var name, callID string
		if json.Unmarshal(r[0], &name) != nil || json.Unmarshal(r[2], &callID) != nil || callID != id {
			continue
		}
		switch name {
		case "error":
			var e setError
			_ = json.Unmarshal(r[1], &e) // an error without a type is of unknown meaning
			return methodFailure(c.name, e)
		case c.name:
			if err := json.Unmarshal(r[1], c.out); err != nil {
				return fmt.Errorf("the response to %s can't be understood: %w", c.name, err)
			}
			return nil
		}
	}
	return fmt.Errorf("the answer has no response to %s", c.name)
}
