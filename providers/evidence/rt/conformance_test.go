package rt_test

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/evidencetest"
	"github.com/landedhq/landed/providers/evidence/rt"
	"github.com/landedhq/landed/providers/evidence/rt/rtdesk"
	"github.com/landedhq/landed/providers/evidence/rt/rttest"
)

func TestConformanceOnSandboxDesk(t *testing.T) {
	t.Parallel()
	desk := newDesk(nil)
	c := serve(t, desk)
	evidencetest.Conformance(t, evidencetest.Fixture{
		Open:     func(t *testing.T) evidence.Adapter { return open(t, c) },
		Put:      func(_ *testing.T, carrier string) { desk.Add("order", carrier) },
		Break:    func(t *testing.T, b evidencetest.Breakage) evidence.Adapter { return broken(t, b, readerToken) },
		Requests: desk.Requests,
		ReadOnly: func(t *testing.T) {
			if n := desk.Writes(); n != 0 {
				t.Errorf("%d requests that could have altered something", n)
			}
		},
		Secrets: []string{readerToken},
	})
}

// conformOnRealServer runs the suite on a real RT behind a tap.
func conformOnRealServer(t *testing.T, s *rttest.Server) {
	tap := evidencetest.NewTap(t, strings.TrimPrefix(s.URL, "http://"))
	c := realConfig(s, rttest.AccountReader)
	c.BaseURL = "http://" + tap.Addr()
	evidencetest.Conformance(t, evidencetest.Fixture{
		Open: func(t *testing.T) evidence.Adapter { return open(t, c) },
		Put: func(t *testing.T, carrier string) {
			s.Create(t, rttest.AccountWorker, rttest.Queue, "order", carrier)
		},
		Break: func(t *testing.T, b evidencetest.Breakage) evidence.Adapter {
			if b == evidencetest.BreakAuth {
				wrong := c
				wrong.Token = evidence.Fixed(s.Token(rttest.AccountReader) + "0")
				return open(t, wrong)
			}
			return broken(t, b, s.Token(rttest.AccountReader))
		},
		Requests: tap.Bytes,
		ReadOnly: func(t *testing.T) {
			lines := regexp.MustCompile(`(?m)^([A-Z]+) \S+ HTTP/1\.1\r$`).FindAllStringSubmatch(tap.Sent(), -1)
			for _, l := range lines {
				if l[1] != "GET" {
					t.Errorf("the adapter sent %s", strings.TrimSpace(l[0]))
				}
			}
			if len(lines) == 0 {
				t.Error("the tap saw no request")
			}
		},
		Secrets: []string{s.Token(rttest.AccountReader)},
	})
}

// broken returns an adapter for a server that fails.
func broken(t *testing.T, b evidencetest.Breakage, token string) evidence.Adapter {
	t.Helper()
	desk := newDesk(map[string]rtdesk.Account{token: rtdesk.Reader("reader")})
	trouble := map[evidencetest.Breakage]rtdesk.Trouble{
		evidencetest.BreakAuth:    rtdesk.TroubleUnauthorized,
		evidencetest.BreakDown:    rtdesk.TroubleServerError,
		evidencetest.BreakHang:    rtdesk.TroubleHang,
		evidencetest.BreakGarbage: rtdesk.TroubleGarbage,
	}[b]
	if trouble == rtdesk.TroubleNone {
		t.Fatalf("unknown breakage %q", b)
	}
	desk.SetFaults(rtdesk.Faults{Trouble: trouble})
	s := httptest.NewServer(desk)
	t.Cleanup(s.Close)
	return open(t, rt.Config{BaseURL: s.URL, Token: evidence.Fixed(token), Queue: "Desk", AllowPrivate: true, AllowPlainHTTP: true})
}
