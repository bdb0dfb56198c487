package rtdesk_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/landedhq/landed/providers/evidence/rt/rtdesk"
)

func TestTicketPage(t *testing.T) {
	t.Parallel()
	d := rtdesk.New(rtdesk.Config{})
	const hostile = `<script>alert(1)</script>`
	id := d.Add(hostile, strings.Repeat("ab", 16))
	other := d.Add("the other", "")
	d.Merge(other, id)
	for _, c := range []struct {
		name, path string
		status     int
		want       []string
	}{
		{"ticket", "/Ticket/Display.html?id=1", 200, []string{"#1: &lt;script&gt;", "abababab", "kim@customer.example", "new"}},
		{"merged ticket shows its target", "/Ticket/Display.html?id=2", 200, []string{"#1: "}},
		{"no such ticket", "/Ticket/Display.html?id=9", 404, []string{"no such ticket"}},
		{"no number", "/Ticket/Display.html?id=x", 404, []string{"no such ticket"}},
		{"list", "/", 200, []string{"#2 the other", `href="/Ticket/Display.html?id=1"`}},
		{"no such page", "/nothing", 404, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, c.path, http.NoBody))
			body := w.Body.String()
			if w.Code != c.status {
				t.Errorf("status %d, want %d", w.Code, c.status)
			}
			if strings.Contains(body, hostile) {
				t.Error("the subject is not escaped")
			}
			for _, part := range c.want {
				if !strings.Contains(body, part) {
					t.Errorf("the page lacks %q:\n%s", part, body)
				}
			}
		})
	}
}

func TestPagesForPeopleGoOnWhileTheAPIIsInTrouble(t *testing.T) {
	t.Parallel()
	d := rtdesk.New(rtdesk.Config{Accounts: map[string]rtdesk.Account{"t": rtdesk.Reader("reader")}})
	d.Add("one", "")
	d.SetFaults(rtdesk.Faults{Trouble: rtdesk.TroubleServerError})
	for path, want := range map[string]int{"/Ticket/Display.html?id=1": 200, "/REST/2.0/ticket/1": 500} {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		r.Header.Set("Authorization", "token t")
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	d := rtdesk.New(rtdesk.Config{Accounts: map[string]rtdesk.Account{"w": rtdesk.Worker("worker"), "r": rtdesk.Reader("reader")}})
	for _, c := range []struct {
		name, token, body string
		status            int
	}{
		{"no token", "", `{"Queue":"Desk"}`, 401},
		{"no right", "r", `{"Queue":"Desk"}`, 403},
		{"no JSON", "w", `Queue=Desk`, 400},
		{"too large", "w", `{"Queue":"Desk","Content":"` + strings.Repeat("x", 1<<20) + `"}`, 400},
		{"good", "w", `{"Queue":"Desk","CustomFields":{"Landed Ref":"x"}}`, 201},
	} {
		r := httptest.NewRequest(http.MethodPost, "/REST/2.0/ticket", strings.NewReader(c.body))
		r.Header.Set("Authorization", "token "+c.token)
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		if w.Code != c.status {
			b, _ := io.ReadAll(w.Body)
			t.Errorf("%s: %d, want %d: %s", c.name, w.Code, c.status, b)
		}
	}
	if got := d.Tickets(); len(got) != 1 || got[0].Ref != "x" || got[0].Creator != "worker" {
		t.Errorf("tickets %+v, want one with the reference", got)
	}
	if d.Requests() != 5 || d.Writes() != 5 {
		t.Errorf("%d requests, %d writes; want 5, 5", d.Requests(), d.Writes())
	}
}

// FuzzQuery wants that no query breaks the desk.
func FuzzQuery(f *testing.F) {
	d := rtdesk.New(rtdesk.Config{Accounts: map[string]rtdesk.Account{"r": rtdesk.Reader("reader")}})
	d.Add("one", "x")
	for _, q := range []string{`'CF.{2}' = 'x' AND EffectiveId > 0`, `Queue = 3`, `'`, `a = 'b\'c'`, `(`, `id`, `AND`, `CF.{x} != "y"`} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		r := httptest.NewRequest(http.MethodGet, "/REST/2.0/tickets", http.NoBody)
		r.Header.Set("Authorization", "token r")
		r.URL.RawQuery = "query=" + strings.NewReplacer("%", "%25", "&", "%26", "+", "%2B", "#", "%23", ";", "%3B").Replace(q)
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest {
			t.Errorf("status %d for %q", w.Code, q)
		}
	})
}
