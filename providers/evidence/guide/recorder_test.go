package guide

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// recorded is one request as the recording server got it.
type recorded struct {
	Method, Path string
	Header       http.Header
	Body         []byte
}

// recorder is every provider at once, each below its name. It keeps what it gets and
// answers with the example's yes.
type recorder struct {
	*httptest.Server
	smtp     net.Listener
	database string // of the SQL example

	mu     sync.Mutex
	got    map[string][]recorded
	status int // of all answers; 0 = as usual
}

func newRecorder(t *testing.T, database string) *recorder {
	t.Helper()
	r := &recorder{database: database, got: map[string][]recorded{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	var err error
	if r.smtp, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.smtp.Close() })
	go r.mails()
	return r
}

func (r *recorder) keep(name string, one recorded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got[name] = append(r.got[name], one)
}

// take returns what came for a provider since the last time.
func (r *recorder) take(name string) []recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.got[name]
	delete(r.got, name)
	return out
}

func (r *recorder) answers(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	name, path, _ := strings.Cut(strings.TrimPrefix(req.URL.EscapedPath(), "/"), "/")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if name == "sql" {
		r.insert(w, req, body)
		return
	}
	r.keep(name, recorded{req.Method, "/" + path, req.Header, body})
	r.mu.Lock()
	status := r.status
	r.mu.Unlock()
	s, err := sampleOf(name)
	switch {
	case err != nil:
		w.WriteHeader(http.StatusNotFound)
	case status != 0:
		w.WriteHeader(status)
	case s.answer == "":
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, s.answer)
	}
}

// insert does for the Python and the Java example what a database driver does.
func (r *recorder) insert(w http.ResponseWriter, req *http.Request, body []byte) {
	var in struct {
		SQL    string
		Params []any
	}
	conn, err := pgx.Connect(req.Context(), r.database)
	if err == nil {
		defer func() { _ = conn.Close(req.Context()) }()
		err = json.Unmarshal(body, &in)
	}
	for n := range in.Params {
		for _, holder := range []string{"%s", "?"} {
			in.SQL = strings.Replace(in.SQL, holder, fmt.Sprintf("$%d", n+1), 1)
		}
	}
	var id string
	if err == nil {
		err = conn.QueryRow(req.Context(), in.SQL+"::text", in.Params...).Scan(&id)
	}
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, err.Error())
		return
	}
	_, _ = io.WriteString(w, id)
}

// mails is a mail server that takes everything.
func (r *recorder) mails() {
	for {
		conn, err := r.smtp.Accept()
		if err != nil {
			return
		}
		go r.mail(conn)
	}
}

func (r *recorder) mail(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	say := func(reply string) { _, _ = fmt.Fprintf(conn, "%s\r\n", reply) }
	in := bufio.NewScanner(conn)
	for say("220 test"); in.Scan(); {
		switch verb, _, _ := strings.Cut(strings.ToUpper(in.Text()), " "); verb {
		case "EHLO":
			say("250-test\r\n250 AUTH PLAIN")
		case "AUTH":
			say("235 welcome")
		case "DATA":
			say("354 go on")
			var lines []string
			for in.Scan() && in.Text() != "." {
				lines = append(lines, strings.TrimPrefix(in.Text(), "."))
			}
			r.keep("imap", recorded{Method: "SMTP", Body: []byte(strings.Join(lines, "\r\n") + "\r\n")})
			say("250 2.0.0 taken")
		default:
			say("250 ok")
		}
	}
}
