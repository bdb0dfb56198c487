package rt_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/providers/evidence/rt"
	"github.com/landedhq/landed/providers/evidence/rt/rtdesk"
	"github.com/landedhq/landed/providers/evidence/rt/rttest"
)

const transcriptFile = "testdata/transcript.json"

// exchange is one step of the transcript: a request and its answer, or something
// that a person did at the desk.
type exchange struct {
	Name    string          `json:"name"`
	Person  string          `json:"person,omitempty"` // "delete 2", "merge 3 1"
	Account string          `json:"account,omitempty"`
	Method  string          `json:"method,omitempty"`
	Path    string          `json:"path,omitempty"`
	Query   url.Values      `json:"query,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`

	Status      int    `json:"status,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	Answer      any    `json:"answer,omitempty"`
}

const (
	refA = "0c7f5e1d2b3a4968b7d6e5f40312a9c8"
	refB = "1d8a6f2e3c4b4a79a8e7f6051423bad9"
	refC = "2e9b703f4d5c4b8ab9f807162534cbea"
)

// script is what the worker and the adapter ask of a desk.
func script() []exchange {
	search := func(ref string) url.Values {
		return url.Values{
			"query": {"'CF.{2}' = '" + ref + "' AND EffectiveId > 0"}, "per_page": {"100"}, "page": {"1"},
			"fields": {"Subject,Status,Created,EffectiveId,Queue,CustomFields"},
		}
	}
	create := func(queue, subject, ref string) json.RawMessage {
		b, _ := rt.CreateBody(rt.NewTicket{Queue: queue, Subject: subject, Content: "One parcel, please.", Requestor: "kim@customer.example"}, "", ref)
		return b
	}
	queueName := url.Values{"fields[Queue]": {"Name"}}
	deleted := url.Values{
		"query":    {"ObjectType = 'RT::Ticket' AND Type = 'Create' AND TicketStatus = 'deleted' AND TicketQueue = 3 AND TicketCreated > '2020-01-01 00:00:00' AND TicketCreated < '2120-01-01 00:00:00'"},
		"per_page": {"100"}, "page": {"1"}, "fields": {"ObjectId"},
	}
	get := func(name, account, path string, q url.Values) exchange {
		return exchange{Name: name, Account: account, Method: http.MethodGet, Path: path, Query: q}
	}
	post := func(name, account string, body json.RawMessage) exchange {
		return exchange{Name: name, Account: account, Method: http.MethodPost, Path: "ticket", Body: body}
	}
	return []exchange{
		get("search on an empty desk", "reader", "tickets", search(refA)),
		post("create", "worker", create("Desk", "Parcel for order 7", refA)),
		post("create without queue", "worker", json.RawMessage(`{"Subject":"no queue"}`)),
		post("create in an unknown queue", "worker", create("Nowhere", "x", refB)),
		post("create without the right", "reader", create("Desk", "x", refB)),
		post("create under a second reference", "worker", create("Desk", "Invoice for order 7", refB)),
		post("create under a third reference", "worker", create("Desk", "Label for order 7", refC)),
		get("search hit", "reader", "tickets", search(refA)),
		get("search miss", "reader", "tickets", search(strings.Repeat("0", 32))),
		get("search in other letters", "reader", "tickets", search(strings.ToUpper(refA))),
		get("search by names", "reader", "tickets", url.Values{"query": {"Queue = 'Desk' AND 'CF.{Landed Ref}' = '" + refA + "'"}}),
		get("search for a field that does not exist", "reader", "tickets", url.Values{"query": {"'CF.{No Such Field}' = '" + refA + "'"}}),
		get("search without query", "reader", "tickets", nil),
		get("search with an unknown key", "reader", "tickets", url.Values{"query": {"Nonsense = 1"}}),
		get("second page", "reader", "tickets", url.Values{"query": {"Queue = 3 AND EffectiveId > 0"}, "per_page": {"2"}, "page": {"2"}}),
		get("read the ticket", "reader", "ticket/1", queueName),
		get("read a ticket that does not exist", "reader", "ticket/999", nil),
		get("read the queue", "reader", "queue/Desk", nil),
		get("read the queue by id", "reader", "queue/3", nil),
		get("read a queue that does not exist", "reader", "queue/Nowhere", nil),
		get("read the field with rights on the queue", "reader", "customfield/2", nil),
		get("search without SeeCustomField", "nofield", "tickets", search(refA)),
		get("queue without SeeCustomField", "nofield", "queue/Desk", nil),
		get("ticket without SeeCustomField", "nofield", "ticket/1", queueName),
		get("search without ShowTicket", "noticket", "tickets", search(refA)),
		get("ticket without ShowTicket", "noticket", "ticket/1", nil),
		get("queue without SeeQueue", "noqueue", "queue/Desk", nil),
		get("ticket without SeeQueue", "noqueue", "ticket/1", queueName),
		get("wrong token", "1-1-00000000000000000000000000000000", "queue/Desk", nil),
		get("no token", "", "queue/Desk", nil),
		get("unknown endpoint", "reader", "nonsense", nil),
		get("no deleted tickets", "reader", "transactions", deleted),
		{Name: "a person deletes ticket 2", Person: "delete 2"},
		get("search for a deleted ticket", "reader", "tickets", search(refB)),
		get("deleted tickets", "reader", "transactions", deleted),
		get("deleted tickets without ShowTicket", "noticket", "transactions", deleted),
		get("read a deleted ticket", "reader", "ticket/2", queueName),
		{Name: "a person merges ticket 3 into 1", Person: "merge 3 1"},
		get("search for a merged ticket", "reader", "tickets", search(refC)),
		get("search for a merged ticket by its id", "reader", "tickets", url.Values{
			"query": {"id = 3 AND EffectiveId > 0"}, "fields": {"EffectiveId,CustomFields"}}),
		get("search for a merged ticket without EffectiveId", "reader", "tickets", url.Values{"query": {"'CF.{2}' = '" + refC + "'"}}),
		get("read a merged ticket", "reader", "ticket/3", queueName),
	}
}

// updating reports whether the transcript is to be written anew:
// go test ./providers/evidence/rt -run TestRealServer/transcript -args -update
func updating() bool {
	return flag.Lookup("update") != nil && flag.Lookup("update").Value.String() == "true"
}

func TestMain(m *testing.M) {
	flag.Bool("update", false, "record testdata/transcript.json from the real server")
	os.Exit(m.Run())
}

// desk is what a transcript is replayed on.
type desk struct {
	do     func(t *testing.T, e exchange) (*http.Response, []byte)
	delete func(t *testing.T, id string)
	merge  func(t *testing.T, id, into string)
	base   string
}

// play runs one step and returns it with the answer, normalised.
func (d desk) play(t *testing.T, e exchange) exchange {
	t.Helper()
	if e.Person != "" {
		switch f := strings.Fields(e.Person); f[0] {
		case "delete":
			d.delete(t, f[1])
		case "merge":
			d.merge(t, f[1], f[2])
		default:
			t.Fatalf("unknown act %q", e.Person)
		}
		return e
	}
	resp, body := d.do(t, e)
	e.Status, e.ContentType = resp.StatusCode, resp.Header.Get("Content-Type")
	if len(body) > 0 {
		if err := json.Unmarshal(body, &e.Answer); err != nil {
			t.Fatalf("%s: the answer is no JSON: %v: %s", e.Name, err, body)
		}
	}
	e.Answer = normalise(e.Answer, d.base)
	return e
}

// normalise replaces what differs from run to run: address, times, numbers of
// transactions, who the person at the desk was, the order of parameters in
// links, and the place in RT's source that its messages name.
func normalise(v any, base string) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = normalise(v[k], base)
		}
		if v["type"] == "transaction" {
			v["id"], v["_url"] = "N", "BASE/REST/2.0/transaction/N"
		}
	case []any:
		for i := range v {
			v[i] = normalise(v[i], base)
		}
	case string:
		v = strings.ReplaceAll(v, base, "BASE")
		v = regexp.MustCompile(`^(BASE/REST/2.0/user/)?(admin|agent)$`).ReplaceAllString(v, "${1}PERSON")
		if path, query, ok := strings.Cut(v, "?"); ok && strings.HasPrefix(v, "BASE/") {
			if q, err := url.ParseQuery(query); err == nil {
				q.Del("") // RT adds an empty one
				v = path + "?" + q.Encode()
			}
		}
		v = regexp.MustCompile(`^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$`).ReplaceAllString(v, "TIME")
		return regexp.MustCompile(` at /\S+ line \d+\.\n$`).ReplaceAllString(v, "")
	}
	return v
}

func replayOnRealServer(t *testing.T, s *rttest.Server) {
	if s.Queues[rttest.Queue] != 3 || s.FieldID != 2 {
		t.Fatalf("queue %d and field %d: the transcript speaks of 3 and 2", s.Queues[rttest.Queue], s.FieldID)
	}
	d := desk{
		base: s.URL,
		do: func(t *testing.T, e exchange) (*http.Response, []byte) {
			return s.Do(t, e.Account, e.Method, e.Path, e.Query, e.Body)
		},
		delete: func(t *testing.T, id string) { s.Delete(t, id) },
		merge:  func(t *testing.T, id, into string) { s.Merge(t, id, into) },
	}
	if updating() {
		record(t, d)
		return
	}
	replay(t, d)
}

func TestTranscriptOnSandboxDesk(t *testing.T) {
	t.Parallel()
	tokens := map[string]string{"worker": workerToken, "reader": readerToken, "nofield": "t-nofield", "noticket": "t-noticket", "noqueue": "t-noqueue"}
	noField, noShow, noQueue := rtdesk.Reader("nofield"), rtdesk.Reader("noticket"), rtdesk.Reader("noqueue")
	noField.SeeField, noShow.Show, noQueue.SeeQueue = false, false, false
	sandbox := newDesk(map[string]rtdesk.Account{"t-nofield": noField, "t-noticket": noShow, "t-noqueue": noQueue})
	s := httptest.NewServer(sandbox)
	t.Cleanup(s.Close)
	number := func(t *testing.T, s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	replay(t, desk{
		base: s.URL,
		do: func(t *testing.T, e exchange) (*http.Response, []byte) {
			return request(t, s.URL, tokens, e)
		},
		delete: func(t *testing.T, id string) { sandbox.SetStatus(number(t, id), "deleted") },
		merge:  func(t *testing.T, id, into string) { sandbox.Merge(number(t, id), number(t, into)) },
	})
}

func request(t *testing.T, base string, tokens map[string]string, e exchange) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), e.Method, base+"/REST/2.0/"+e.Path+"?"+e.Query.Encode(), bytes.NewReader(e.Body))
	if err != nil {
		t.Fatal(err)
	}
	if token, ok := tokens[e.Account]; ok {
		req.Header.Set("Authorization", "token "+token)
	} else if e.Account != "" {
		req.Header.Set("Authorization", "token "+e.Account)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp, b.Bytes()
}

// replay plays the recorded steps and compares.
func replay(t *testing.T, d desk) {
	t.Helper()
	b, err := os.ReadFile(transcriptFile)
	if err != nil {
		t.Fatal(err)
	}
	var steps []exchange
	if err := json.Unmarshal(b, &steps); err != nil {
		t.Fatal(err)
	}
	if len(steps) != len(script()) {
		t.Fatalf("%d steps recorded, the script has %d: record it anew", len(steps), len(script()))
	}
	for i, want := range steps {
		got := script()[i]
		if got.Name != want.Name {
			t.Fatalf("step %d is recorded as %q, the script has %q: record it anew", i, want.Name, got.Name)
		}
		got = d.play(t, got)
		if diff := cmp.Diff(outcome(want), outcome(got)); diff != "" {
			t.Errorf("%s (-recorded +got):\n%s", want.Name, diff)
		}
	}
}

// outcome is the part of a step that is compared.
func outcome(e exchange) map[string]any {
	return map[string]any{"status": e.Status, "content type": e.ContentType, "answer": e.Answer}
}

func record(t *testing.T, d desk) {
	t.Helper()
	var steps []exchange
	for _, e := range script() {
		steps = append(steps, d.play(t, e))
	}
	b, err := json.MarshalIndent(steps, "", "  ")
	if err == nil {
		err = os.MkdirAll("testdata", 0o755)
	}
	if err == nil {
		err = os.WriteFile(transcriptFile, append(b, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
