package gmail

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/mail"
	"net/url"
	"strings"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged"
)

// The kinds of handles, in the journal before drafts.send: those of the evidence
// adapter.
const (
	HandleDraft  = "gmail_draft"
	HandleThread = "gmail_thread" // of the draft
)

// The defaults of the carriers, and Google's address.
const (
	DefaultRefHeader = "X-Landed-Ref"
	DefaultDomain    = "effects.landed"
	DefaultBaseURL   = "https://gmail.googleapis.com"
)

// Sender sends from one mailbox. It is safe for concurrent use.
type Sender struct {
	// Client adds the credentials to each request. Not worker.Client: see package
	// staged.
	Client *http.Client
	User   string // the mailbox; "" = "me", the one of the credentials
	// RefHeader and Domain must be the evidence adapter's; "" = the defaults.
	RefHeader, Domain string
	BaseURL           string // "" = DefaultBaseURL
}

// Message is one mail.
type Message struct {
	// MIME is the whole message, RFC 5322, with neither Message-ID nor the
	// reference's header: Send sets both. BodyLine belongs into its text.
	MIME     []byte
	ThreadID string // for a reply; "" = a thread of its own
}

// Send sends m as the effect that ctx belongs to: it is what a tool's function
// calls. The outcome's id is the sent message's.
func (s Sender) Send(ctx context.Context, m Message) (worker.Outcome, error) {
	ref, err := worker.RefFrom(ctx)
	if err != nil {
		return worker.Outcome{}, err
	}
	raw, err := s.mark(m.MIME, ref)
	if err != nil {
		return worker.Outcome{}, worker.NotSent(fmt.Errorf("gmail: %w", err))
	}
	d := draft{Sender: s, ref: ref}
	out, err := staged.Run(ctx, staged.Steps{
		Kind: HandleDraft,
		Create: func(ctx context.Context) (staged.Handle, error) {
			return d.create(ctx, raw, m.ThreadID)
		},
		Read: d.read, Finish: d.send,
	})
	if err != nil {
		return worker.Outcome{}, fmt.Errorf("gmail: %w", err)
	}
	return out, nil
}

// BodyLine is the line of text that a search can find, as Gmail's knows no header
// fields of our own: the adapter's RefInBody. People see it. The reference is
// worker.RefFrom's.
func BodyLine(ref string) string { return "Ref: " + ref }

// mark adds the two carriers in front of the message.
func (s Sender) mark(mime []byte, ref string) ([]byte, error) {
	m, err := mail.ReadMessage(bytes.NewReader(mime))
	if err != nil {
		return nil, fmt.Errorf("the message is no RFC 5322 message: %w", err)
	}
	for _, name := range []string{"Message-ID", s.refHeader()} {
		if m.Header.Get(name) != "" {
			return nil, fmt.Errorf("the message sets %s itself, so no look could find it", name)
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "Message-ID: <%s>\r\n%s: %s\r\n", s.messageID(ref), s.refHeader(), ref)
	b.Write(mime)
	return b.Bytes(), nil
}

func (s Sender) refHeader() string { return or(s.RefHeader, DefaultRefHeader) }

func (s Sender) messageID(ref string) string { return ref + "@" + or(s.Domain, DefaultDomain) }

func (s Sender) url(path string) string {
	return strings.TrimSuffix(or(s.BaseURL, DefaultBaseURL), "/") + "/gmail/v1/users/" + url.PathEscape(or(s.User, "me")) + path
}

func or(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

// draft is one effect's mail on its way.
type draft struct {
	Sender
	ref string
}

// wireMessage is the part of a message that is read here.
type wireMessage struct {
	ID       string   `json:"id"`
	ThreadID string   `json:"threadId"`
	LabelIDs []string `json:"labelIds"`
	Payload  struct {
		Headers []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"headers"`
	} `json:"payload"`
}

func (d draft) create(ctx context.Context, raw []byte, thread string) (staged.Handle, error) {
	message := map[string]string{"raw": base64.URLEncoding.EncodeToString(raw)}
	if thread != "" {
		message["threadId"] = thread
	}
	out, err := d.post(ctx, "/drafts", map[string]any{"message": message})
	if err != nil {
		return staged.Handle{}, err
	}
	var made struct {
		ID      string      `json:"id"`
		Message wireMessage `json:"message"`
	}
	if err := json.Unmarshal(out.Result, &made); err != nil {
		return staged.Handle{}, err
	}
	h := staged.Handle{Value: made.ID}
	if made.Message.ThreadID != "" {
		h.Beside = map[string]string{HandleThread: made.Message.ThreadID}
	}
	return h, nil
}

// send asks for the one thing that has an effect. It is confirmed by a message
// that is SENT.
func (d draft) send(ctx context.Context, h staged.Handle) (worker.Outcome, error) {
	return d.post(ctx, "/drafts/send", map[string]any{"id": h.Value})
}

func (d draft) post(ctx context.Context, path string, body any) (worker.Outcome, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	req, err := staged.Request(ctx, http.MethodPost, d.url(path), http.Header{"Content-Type": {"application/json"}}, raw)
	if err != nil {
		return worker.Outcome{}, err
	}
	return worker.Classifier{Judge: judge, Parse: parse}.Send(staged.Once(d.Client), req)
}

// parse wants an object with an id.
func parse(r worker.Response) (worker.Outcome, error) {
	out, err := worker.ParseJSON(r)
	if err == nil && out.ProviderID == "" {
		err = errors.New("the answer has no id")
	}
	return out, err
}

// judge knows the limits that Google reports as 403.
func judge(r worker.Response) (worker.Verdict, bool) {
	var body struct {
		Error struct {
			Errors []struct {
				Reason string `json:"reason"`
			} `json:"errors"`
		} `json:"error"`
	}
	if r.Status != http.StatusForbidden || json.Unmarshal(r.Body, &body) != nil {
		return worker.Verdict{}, false
	}
	for _, e := range body.Error.Errors {
		switch e.Reason {
		case "rateLimitExceeded", "userRateLimitExceeded", "dailyLimitExceeded":
			return worker.Verdict{Phase: journal.PhaseRefused, Meaning: worker.MeaningRateLimited}, true
		}
	}
	return worker.Verdict{}, false
}
