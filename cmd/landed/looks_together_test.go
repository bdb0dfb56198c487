package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/egress"
)

// windowed is a provider without a filter for references: whoever looks reads
// everything of a time.
type windowed struct {
	client *http.Client
	url    string
}

func (w *windowed) Sheet() evidence.Sheet {
	return evidence.Sheet{Kind: "windowed", Version: "1", Class: evidence.L5, IndexLag: time.Millisecond, ProcessingHorizon: time.Millisecond,
		Conclusive: true, Scopes: []string{"all"}, Mode: "test"}
}

func (w *windowed) Session(context.Context) (evidence.Session, error) { return w, nil }

func (w *windowed) Close() error { return nil }

func (w *windowed) Find(ctx context.Context, q evidence.Query) (evidence.Answer, error) {
	a := evidence.Answer{AllPagesRead: true, Scopes: []journal.Scope{{Name: "all", Seen: true}}}
	for page := range 3 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/?from=%d&to=%d&page=%d", w.url, q.From.UnixNano(), q.To.UnixNano(), page), nil)
		if err != nil {
			return a, err
		}
		resp, err := w.client.Do(req)
		if err != nil {
			return a, err
		}
		var refs []string
		err = json.NewDecoder(resp.Body).Decode(&refs)
		if _, e := resp.Body.Read(make([]byte, 1)); e == nil {
			err = fmt.Errorf("more than one list")
		}
		_ = resp.Body.Close()
		if err != nil {
			return a, err
		}
		for _, r := range refs {
			if r == q.Ref {
				a.Matches = append(a.Matches, journal.Match{ID: r, State: journal.MatchEffective})
			}
		}
	}
	return a, nil
}

// TestLooksTogether: where a provider is read window by window, the pages of an
// outage are fetched once, not once for each of its effects.
func TestLooksTogether(t *testing.T) {
	t.Parallel()
	const each = 300
	var refs []string
	for i := 0; i <= each; i += 2 { // the last one is the canary
		refs = append(refs, journal.Ref("", fmt.Sprintf("run/windowed/%d", i)))
	}
	var asked atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		page := int(r.URL.Query().Get("page")[0] - '0')
		_ = json.NewEncoder(w).Encode(refs[page*len(refs)/3 : (page+1)*len(refs)/3])
	}))
	t.Cleanup(srv.Close)
	store, err := postgres.Open(t.Context(), journaltest.Database(t, postgres.Migrate), postgres.Options{CanLook: func(string) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	if err := store.RegisterTool(t.Context(), journal.Tool{Name: "windowed", Class: journal.ClassAtMostOnce, Provider: "windowed", ClientTimeout: time.Second}); err != nil {
		t.Fatal(err)
	}
	fillStuck(t.Context(), t, store, []string{"windowed"}, each)
	w := &windowed{url: srv.URL, client: egress.Client(egress.Config{Hosts: []string{strings.TrimPrefix(srv.URL, "http://")}, AllowPrivate: true, AllowPlainHTTP: true})}
	c := evidence.NewCollector(store, map[string]evidence.Adapter{"windowed": w}, nil, slog.New(slog.DiscardHandler))
	count := func(sql string) (n int) {
		if err := store.Pool().QueryRow(t.Context(), sql).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const told = "select count(distinct effect_id) from evidence where verdict in ('FOUND', 'NOT_FOUND')"
	for deadline := time.Now().Add(time.Minute); count(told) < each && time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		if _, err := c.Round(t.Context(), "windowed"); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(told); n != each {
		t.Errorf("%d of %d effects have an answer", n, each)
	}
	if n := count("select count(*) from evidence e join effects f on f.id = e.effect_id where e.verdict in ('FOUND', 'NOT_FOUND') and (e.verdict = 'FOUND') <> (right(f.key, 1)::int % 2 = 0)"); n != 0 {
		t.Errorf("%d answers are wrong", n)
	}
	looks := int64(count("select count(*) from evidence"))
	if n := asked.Load(); n > looks/4 {
		t.Errorf("%d looks cost %d requests", looks, n)
	}
	t.Logf("%d looks, %d requests", looks, asked.Load())
}
