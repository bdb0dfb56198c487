package inbox

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/landedhq/landed/providers/alert"
	"github.com/landedhq/landed/providers/webhook"
)

//go:embed page.html style.css
var files embed.FS

// Bounds of the inbox.
const (
	maxBody = 64 << 10
	keep    = 100
	refresh = "5" // seconds

	styleQuery = "style.css" // as the page links to it
)

// Config of an inbox.
type Config struct {
	// Keys that notifications are signed with: whsec_… or whpk_….
	Keys []string
	// Desk is Landed's address. Only links that begin with it are shown as links.
	Desk  string
	Clock func() time.Time // nil = time.Now
}

// Inbox receives and shows alerts, an http.Handler for one path, whichever that
// is: POST receives, GET shows, GET with the query "style.css" is the style sheet.
type Inbox struct {
	verify *webhook.Verifier
	desk   string
	now    func() time.Time
	page   *template.Template
	mux    *http.ServeMux

	mu      sync.Mutex
	alerts  []entry // newest first
	refused int
}

// entry is one alert as it came.
type entry struct {
	id                  string
	undelivered         bool // else they need a decision
	tool, provider      string
	count               int
	url, oldest         string
	raised, first, last time.Time
	times               int
}

// New makes an empty inbox.
func New(c Config) (*Inbox, error) {
	v, err := webhook.NewVerifier(c.Keys...)
	if err != nil {
		return nil, fmt.Errorf("alert inbox: %w", err)
	}
	if c.Desk == "" {
		return nil, errors.New("alert inbox: the desk's address is empty")
	}
	page, err := template.ParseFS(files, "page.html")
	if err != nil {
		return nil, fmt.Errorf("alert inbox: %w", err)
	}
	b := &Inbox{verify: v, desk: strings.TrimRight(c.Desk, "/") + "/", now: c.Clock, page: page, mux: http.NewServeMux()}
	if b.now == nil {
		b.now = time.Now
	}
	b.mux.HandleFunc("POST /", b.receive)
	b.mux.HandleFunc("GET /", b.show)
	return b, nil
}

// ServeHTTP serves the inbox.
func (b *Inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	b.mux.ServeHTTP(w, r)
}

// message is the part of the body that is shown.
type message struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      struct {
		Tool      string `json:"tool"`
		Provider  string `json:"provider"`
		Count     int    `json:"count"`
		URL       string `json:"url"`
		OldestURL string `json:"oldest_url"`
	} `json:"data"`
}

// receive takes a notification in: 204 once it is kept, and again for one that
// was kept before.
func (b *Inbox) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "the body is too large or broke off", http.StatusBadRequest)
		return
	}
	id, err := b.verify.Verify(b.now(), r.Header, body)
	if err != nil {
		b.mu.Lock()
		b.refused++
		b.mu.Unlock()
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil || m.Type != alert.TypeEffectAlert && m.Type != alert.TypeUndelivered {
		http.Error(w, "this inbox takes "+alert.TypeEffectAlert+" and "+alert.TypeUndelivered+" only", http.StatusBadRequest)
		return
	}
	b.put(id, m)
	w.WriteHeader(http.StatusNoContent)
}

// put keeps the message. A repeat of a known id is counted, not shown twice.
func (b *Inbox) put(id string, m message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	for i := range b.alerts {
		if b.alerts[i].id == id {
			b.alerts[i].times++
			b.alerts[i].last = now
			return
		}
	}
	e := entry{id: id, undelivered: m.Type == alert.TypeUndelivered, tool: m.Data.Tool, provider: m.Data.Provider, count: m.Data.Count, url: m.Data.URL, oldest: m.Data.OldestURL,
		raised: m.Timestamp, first: now, last: now, times: 1}
	b.alerts = append([]entry{e}, b.alerts...)
	b.alerts = b.alerts[:min(len(b.alerts), keep)]
}

// view is what the page shows.
type view struct {
	Alerts  []row
	Refused int
	Desk    string
}

type row struct {
	Headline, Tool, Provider string
	URL, LinkText            string // URL is empty where the link leads off the desk
	Oldest                   string // empty where it says the same as URL
	At, Time                 string
	Repeats                  int
	ID                       string
}

func (b *Inbox) show(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawQuery == styleQuery {
		w.Header().Set("Cache-Control", "max-age=300")
		http.ServeFileFS(w, r, files, "style.css")
		return
	}
	var out bytes.Buffer
	if err := b.page.Execute(&out, b.view()); err != nil {
		http.Error(w, "the page can't be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Refresh", refresh)
	_, _ = w.Write(out.Bytes()) // a reader that went away is no fault of ours
}

func (b *Inbox) view() view {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := view{Refused: b.refused, Desk: b.desk}
	for _, e := range b.alerts {
		v.Alerts = append(v.Alerts, b.row(e))
	}
	return v
}

func (b *Inbox) row(e entry) row {
	headline := fmt.Sprintf("%d effects need a decision", e.count)
	if e.undelivered {
		headline = fmt.Sprintf("%d decisions reached no runtime", e.count)
	}
	r := row{Headline: headline, Tool: e.tool, Provider: e.provider, LinkText: "Open the list",
		URL: b.link(e.url), At: e.first.UTC().Format(time.RFC3339), Time: e.first.UTC().Format("15:04:05"), Repeats: e.times - 1, ID: e.id}
	if e.count == 1 {
		r.Headline, r.LinkText = "1 effect needs a decision", "Open the effect"
		if e.undelivered {
			r.Headline = "1 decision reached no runtime"
		}
	}
	if e.oldest != e.url {
		r.Oldest = b.link(e.oldest)
	}
	return r
}

// link lets only the desk's own addresses through.
func (b *Inbox) link(s string) string {
	if strings.HasPrefix(s, b.desk) {
		return s
	}
	return ""
}
