package sql_test

import (
	"bytes"
	"net"
	"regexp"
	"strconv"
	"testing"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/evidencetest"
	"github.com/landedhq/landed/providers/evidence/sql/sqltest"
)

func TestConformanceOnRealPostgres(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	relay := sqltest.NewRelay(t, s.dsn)
	c := s.config()
	c.DSN = evidence.Fixed(relay.DSN(t, as(t, s.dsn, reader)))
	put := 0
	evidencetest.Conformance(t, evidencetest.Fixture{
		Open: func(t *testing.T) evidence.Adapter { return open(t, c) },
		Put: func(_ *testing.T, carrier string) {
			s.put(carrier)
			put++
		},
		Break:    func(t *testing.T, b evidencetest.Breakage) evidence.Adapter { return broken(t, s, b) },
		Requests: func() int64 { return int64(len(relay.Sent())) },
		ReadOnly: func(t *testing.T) { checkReadOnly(t, s, relay.Sent(), put) },
		Secrets:  []string{password},
	})
}

// checkReadOnly wants as many rows as were put, and every statement inside a
// read-only transaction.
func checkReadOnly(t *testing.T, s *store, sent []byte, put int) {
	t.Helper()
	var rows int
	if err := s.connect().QueryRow(t.Context(), "SELECT count(*) FROM shop.orders").Scan(&rows); err != nil || rows != put {
		t.Errorf("%d rows (%v), %d were put", rows, err, put)
	}
	begins := bytes.Count(sent, []byte("BEGIN "))
	if readOnly := bytes.Count(sent, []byte("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY;")); begins == 0 || readOnly != begins {
		t.Errorf("%d of %d transactions were read-only", readOnly, begins)
	}
	if word := regexp.MustCompile(`(?i)\b(COMMIT|READ WRITE|INSERT INTO|UPDATE|DELETE FROM)\b[^,]`).Find(sent); word != nil {
		t.Errorf("the adapter sent %q", word)
	}
}

// broken returns an adapter for a server that fails.
func broken(t *testing.T, s *store, b evidencetest.Breakage) evidence.Adapter {
	t.Helper()
	c := s.config()
	at := func(f func(net.Conn)) {
		c.DSN = evidence.Fixed(sqltest.AtAddress(t, as(t, s.dsn, reader), sqltest.Serve(t, f)))
	}
	switch b {
	case evidencetest.BreakAuth:
		c.DSN = evidence.Fixed(regexp.MustCompile(`//[^:]+:`).ReplaceAllString(as(t, s.dsn, reader), "//stranger:"))
	case evidencetest.BreakDown:
		at(func(net.Conn) {})
	case evidencetest.BreakHang:
		at(func(c net.Conn) { _, _ = c.Read(make([]byte, 1<<16)); _, _ = c.Read(make([]byte, 1)) })
	case evidencetest.BreakGarbage:
		at(func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1<<16))
			_, _ = c.Write([]byte("HTTP/1.1 400 \x00\xff" + strconv.Itoa(1<<30)))
		})
	default:
		t.Fatalf("unknown breakage %q", b)
	}
	return open(t, c)
}
