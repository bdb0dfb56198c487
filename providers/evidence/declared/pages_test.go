package declared_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

// shelf serves 7 things in pages of 3, in every way of paging.
func shelf(ref string, endless bool) http.HandlerFunc {
	const size, all = 3, 7
	return func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		n := func(name string) int { i, _ := strconv.Atoi(q.Get(name)); return i }
		start := max(n("offset"), (n("page")-1)*size, n("cursor"))
		things := []m{}
		for i := start; i < min(start+size, all) || endless && i < start+size; i++ {
			carrier := journal.RandomRef()
			if i == 6 {
				carrier = ref
			}
			things = append(things, m{"id": i, "ref": carrier})
		}
		body := m{"things": things, "total": all}
		if next := start + size; next < all || endless {
			body["cursor"] = strconv.Itoa(next)
			body["next"] = "/things?cursor=" + strconv.Itoa(next)
			w.Header().Add("Link", fmt.Sprintf(`</things?cursor=0>; rel="first", </things?cursor=%d>; rel="next"`, next))
		}
		answer(w, body)
	}
}

func TestPaging(t *testing.T) {
	t.Parallel()
	for name, pages := range map[string]string{
		"next address":            `{kind: next_url, next: "body.?next.orValue(\"\")"}`,
		"Link header":             `{kind: link}`,
		"cursor":                  `{kind: cursor, param: cursor, next: "body.?cursor.orValue(null)"}`,
		"page number":             `{kind: page, param: page, first: 1, size: 3}`,
		"page number with total":  `{kind: page, param: page, first: 1, size: 3, total: body.total}`,
		"offset":                  `{kind: offset, param: offset, size: 3}`,
		"offset with total":       `{kind: offset, param: offset, size: 3, total: body.total}`,
		"offset told by the body": `{kind: offset, param: offset, size: 3, more: has(body.next)}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ref := journal.RandomRef()
			text := edited(t, "{kind: whole}", pages)
			a := mustFind(t, serve(t, text, shelf(ref, false)), ref)
			if len(a.Matches) != 1 || a.Unrelated != 6 || !a.AllPagesRead {
				t.Errorf("%d matches, %d unrelated, all read %v", len(a.Matches), a.Unrelated, a.AllPagesRead)
			}
			a = mustFind(t, serve(t, text, shelf(ref, true)), ref)
			if a.AllPagesRead {
				t.Error("a provider without end was read to the end")
			}
			capped := edited(t, "{kind: whole}", strings.Replace(pages, "}", ", max: 2}", 1))
			if strings.Contains(pages, `orValue("")}`) { // braces inside: nothing to check twice
				return
			}
			if a = mustFind(t, serve(t, capped, shelf(ref, false)), ref); a.AllPagesRead || len(a.Matches) != 0 {
				t.Errorf("two of three pages: %d matches, all read %v", len(a.Matches), a.AllPagesRead)
			}
		})
	}
}

// One page that is full may not be all there is; a total that is not reached is
// not all there is either.
func TestOnePage(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, pages string
		whole       bool
	}{
		{"fewer than asked for", `{kind: none, size: 4}`, true},
		{"as many as asked for", `{kind: none, size: 3}`, false},
		{"fewer than the total", `{kind: none, size: 4, total: body.total}`, false},
		{"whole, but the total says otherwise", `{kind: whole, total: body.total}`, false},
		{"whole", `{kind: whole}`, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a := mustFind(t, serve(t, edited(t, "{kind: whole}", row.pages), shelf("", false)), journal.RandomRef())
			if a.AllPagesRead != row.whole {
				t.Errorf("all read %v", a.AllPagesRead)
			}
		})
	}
}

// A provider that breaks off before the total it told has held something back.
func TestTotalThatIsNotReached(t *testing.T) {
	t.Parallel()
	a := mustFind(t, serve(t, edited(t, "{kind: whole}", `{kind: offset, param: offset, size: 3, total: body.total}`), func(w http.ResponseWriter, _ *http.Request) {
		answer(w, m{"things": []m{}, "total": 9})
	}), journal.RandomRef())
	if a.AllPagesRead {
		t.Error("nothing came of nine rows, and all was read")
	}
}

func TestTruncationThatTheProviderTells(t *testing.T) {
	t.Parallel()
	text := edited(t, "    pages: {kind: whole}\n", "    pages: {kind: whole}\n    truncated: body.incomplete\n")
	for _, cut := range []bool{true, false} {
		a := mustFind(t, serve(t, text, func(w http.ResponseWriter, _ *http.Request) { answer(w, m{"things": []m{}, "incomplete": cut}) }), journal.RandomRef())
		if a.AllPagesRead == cut {
			t.Errorf("incomplete %v: all read %v", cut, a.AllPagesRead)
		}
	}
}

func TestNextPageThatLeadsAstray(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]string{
		"off-host":        "https://evil.example.com/things?cursor=3",
		"to plain HTTP":   "http://127.0.0.1/things",
		"in a circle":     "/things?again=1",
		"with a password": "https://u:p@127.0.0.1/things",
		"to nowhere":      "https://%zz",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := edited(t, "{kind: whole}", `{kind: next_url, next: body.next}`)
			_, err := find(t, serve(t, text, func(w http.ResponseWriter, _ *http.Request) { answer(w, m{"things": []m{}, "next": next}) }), journal.RandomRef())
			if pe := fault(t, err); pe.Kind != evidence.FaultBadAnswer {
				t.Errorf("kind %s", pe.Kind)
			}
		})
	}
}

// The same object on two pages is one match.
func TestObjectOnTwoPages(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	a := mustFind(t, serve(t, edited(t, "{kind: whole}", `{kind: cursor, param: cursor, next: "body.?cursor.orValue(\"\")"}`), func(w http.ResponseWriter, r *http.Request) {
		body := m{"things": []m{{"id": 1, "ref": ref}}}
		if r.URL.Query().Get("cursor") == "" {
			body["cursor"] = "x"
		}
		answer(w, body)
	}), ref)
	if len(a.Matches) != 1 || !a.AllPagesRead {
		t.Errorf("%d matches, all read %v", len(a.Matches), a.AllPagesRead)
	}
}

// Events of one message are one match; the newest of them tells.
func TestEventsOfOneObject(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	text := edited(t, `{id: item.id, state: '"effective"'}`, `{id: item.id, time: at(item.at), state: 'item.event == "failed" ? "not_effective" : "effective"'}`)
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		events := []m{{"id": 1, "ref": ref, "event": "accepted", "at": "2026-01-02T15:04:05Z"}, {"id": 1, "ref": ref, "event": "failed", "at": "2026-01-02T15:04:09Z"}}
		a := mustFind(t, serve(t, text, things(events[order[0]], events[order[1]])), ref)
		if len(a.Matches) != 1 || a.Matches[0].State != journal.MatchNotEffective {
			t.Errorf("%+v", a.Matches)
		}
	}
}
