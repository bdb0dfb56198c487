package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"

	"github.com/landedhq/landed/providers/evidence/rt/rtdesk"
)

// Names in the sandbox.
const (
	prefix      = "/sandbox"
	sentFolder  = "Sent"
	mailUser    = "agent@sandbox.example"
	deskField   = "Landed Ref"
	deskQueue   = "Desk"
	maxBookLine = 1 << 20
)

// entry is one thing that a provider did: the provider's own book, which no
// journal can talk into or out of anything.
type entry struct {
	At       time.Time `json:"at"`
	Provider string    `json:"provider"`
	ID       string    `json:"id"`
	What     string    `json:"what"`
	Ref      string    `json:"ref"`
	Raw      []byte    `json:"raw,omitempty"` // a mail as sent
	Draft    bool      `json:"draft,omitempty"`
}

// sandbox is every provider that the agent talks to.
type sandbox struct {
	token    string // what the agent shows
	password string // of the mailbox that the collector reads
	desk     *rtdesk.Desk
	imap     net.Listener
	server   *imapserver.Server
	mailbox  *imapmemserver.User

	mu   sync.Mutex
	book []entry
	file *os.File          // nil: nothing is kept
	keys map[string]string // card processor: provider key → charge
}

// newSandbox opens the sandbox; with dir its books are kept there and read back.
func newSandbox(dir, token, readToken, password string) (*sandbox, error) {
	s := &sandbox{token: token, password: password, keys: map[string]string{}}
	s.desk = rtdesk.New(rtdesk.Config{Queue: deskQueue, Field: deskField, Accounts: map[string]rtdesk.Account{
		token: rtdesk.Worker("agent"), readToken: rtdesk.Reader("landed")}})
	s.mailbox = imapmemserver.NewUser(mailUser, password)
	if err := s.mailbox.Create(sentFolder, nil); err != nil {
		return nil, fmt.Errorf("opening the sandbox mailbox: %w", err)
	}
	mem := imapmemserver.New()
	mem.AddUser(s.mailbox)
	s.server = imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return mem.NewSession(), nil, nil
		},
		Caps: goimap.CapSet{goimap.CapIMAP4rev1: {}}, InsecureAuth: true, Logger: log.New(io.Discard, "", 0),
	})
	var err error
	if s.imap, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("opening the sandbox mail server: %w", err)
	}
	go func() { _ = s.server.Serve(s.imap) }() // ends with close
	return s, s.restore(dir)
}

func (s *sandbox) close() {
	_ = s.server.Close()
	if s.file != nil {
		_ = s.file.Close()
	}
}

// restore reads the books back and keeps writing them.
func (s *sandbox) restore(dir string) error {
	if dir == "" {
		return nil
	}
	path := filepath.Join(dir, "books.jsonl")
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("reading the sandbox's books: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	for dec.More() {
		var e entry
		if err := dec.Decode(&e); err != nil {
			return fmt.Errorf("reading the sandbox's books: %w", err)
		}
		s.replay(e)
	}
	s.file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keeping the sandbox's books: %w", err)
	}
	return nil
}

// replay does again what a book says, without writing it.
func (s *sandbox) replay(e entry) {
	s.book = append(s.book, e)
	switch e.Provider {
	case "mail":
		_ = s.file2mailbox(e)
	case "desk":
		s.desk.Add(e.What, e.Ref)
	case "cards":
		s.keys[e.Ref] = e.ID
	}
}

// record writes a fact into the books.
func (s *sandbox) record(e entry) {
	e.At = time.Now().UTC()
	s.book = append(s.book, e)
	if s.file != nil {
		b, err := json.Marshal(e)
		if err == nil {
			_, _ = s.file.Write(append(b, '\n'))
		}
	}
}

type literal struct{ *bytes.Reader }

func (l literal) Size() int64 { return l.Reader.Size() }

func (s *sandbox) file2mailbox(e entry) error {
	var flags []goimap.Flag
	if e.Draft {
		flags = append(flags, goimap.FlagDraft)
	}
	_, err := s.mailbox.Append(sentFolder, literal{bytes.NewReader(e.Raw)}, &goimap.AppendOptions{Flags: flags, Time: e.At})
	return err
}

// routes serves the providers below prefix.
func (s *sandbox) routes(mux *http.ServeMux) {
	mux.Handle("POST "+prefix+"/mail/send", s.authorized(s.sendMail))
	mux.Handle("POST "+prefix+"/bank/payouts", s.authorized(s.payout))
	mux.Handle("POST "+prefix+"/cards/charges", s.authorized(s.charge))
	mux.Handle(prefix+"/desk/", http.StripPrefix(prefix+"/desk", s.bookkeepingDesk()))
	mux.HandleFunc("GET "+prefix+"/books", s.books)
}

func (s *sandbox) authorized(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+s.token {
			http.Error(w, `{"error":"unauthorized"}`, http.StatusUnauthorized)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		h(w, r)
	})
}

// sendMail takes a message, files it in Sent and says so, as mail APIs do.
func (s *sandbox) sendMail(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBookLine))
	if err != nil {
		http.Error(w, `{"error":"unreadable"}`, http.StatusBadRequest)
		return
	}
	e := entry{Provider: "mail", ID: fmt.Sprintf("m-%d", len(s.book)+1), What: r.URL.Query().Get("subject"), Ref: r.URL.Query().Get("ref"),
		Raw: raw, Draft: r.Header.Get("X-Sandbox") == string(draft)}
	s.record(e)
	if err := s.file2mailbox(s.book[len(s.book)-1]); err != nil {
		http.Error(w, `{"error":"mailbox"}`, http.StatusInternalServerError)
		return
	}
	s.reply(w, r, e.ID)
}

// payout moves money. This bank has no look-up by reference: nobody can be asked.
func (s *sandbox) payout(w http.ResponseWriter, r *http.Request) {
	e := entry{Provider: "bank", ID: fmt.Sprintf("po_%04d", len(s.book)+1), What: r.URL.Query().Get("subject"), Ref: r.URL.Query().Get("ref")}
	s.record(e)
	s.reply(w, r, e.ID)
}

// charge honours its Idempotency-Key: a repeat gives the first answer.
func (s *sandbox) charge(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		http.Error(w, `{"error":"Idempotency-Key is missing"}`, http.StatusBadRequest)
		return
	}
	if id, ok := s.keys[key]; ok {
		w.Header().Set("Idempotent-Replayed", "true")
		s.reply(w, r, id)
		return
	}
	e := entry{Provider: "cards", ID: fmt.Sprintf("ch_%04d", len(s.book)+1), What: r.URL.Query().Get("subject"), Ref: key}
	s.keys[key] = e.ID
	s.record(e)
	s.reply(w, r, e.ID)
}

// reply answers, or hangs up after the work is done.
func (s *sandbox) reply(w http.ResponseWriter, r *http.Request, id string) {
	if r.Header.Get("X-Sandbox") == string(dropAnswer) {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = c.Close()
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]string{"id": id})
}

// bookkeepingDesk notes every new ticket in the books.
func (s *sandbox) bookkeepingDesk() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		before := len(s.desk.Tickets())
		s.desk.ServeHTTP(w, r)
		if r.Method != http.MethodPost {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, t := range s.desk.Tickets()[before:] {
			s.record(entry{Provider: "desk", ID: fmt.Sprint(t.ID), What: t.Subject, Ref: t.Ref})
		}
	})
}

// books shows what the providers really did.
func (s *sandbox) books(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	rows := append([]entry(nil), s.book...)
	s.mu.Unlock()
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+bookStyleSum()+"'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Refresh", "5")
	if err := parseBooks().Execute(w, struct {
		Style template.CSS
		Rows  []entry
	}{template.CSS(bookStyle), rows}); err != nil { //nolint:gosec // our own constant
		return // the browser went away
	}
}
