package landedmcp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/landedhq/landed/journal/worker"
	landedmcp "github.com/landedhq/landed/journal/worker/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestStreamableHTTP: with and without sessions, in both revisions of the
// protocol, a repetition over another connection gets the recorded result.
func TestStreamableHTTP(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]mcp.StreamableHTTPOptions{
		"with sessions": {}, "without sessions": {Stateless: true}, "JSON answers": {Stateless: true, JSONResponse: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := openStore(t), &provider{}
			server := newServer(p.handler())
			attach(t, server, s, func(c *landedmcp.Config) { c.KeyBySession = true })
			srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &o))
			t.Cleanup(srv.Close)
			client := func() *mcp.ClientSession {
				return dial(t, &mcp.StreamableClientTransport{Endpoint: srv.URL}, nil)
			}
			cs := client()
			first := call(t, cs, step("http", "mail"), mail{To: "A1"})
			wantStatus(t, first, worker.StatusDone)
			again := call(t, client(), step("http", "mail"), mail{To: "A1"})
			if diff := cmp.Diff(wire(t, first), wire(t, again)); diff != "" || said(t, again)["repeated"] != true {
				t.Errorf("the repetition differs (-first +again):\n%s", diff)
			}
			p.want(t, 1)
			unkeyed := call(t, cs, nil, mail{To: "A2"})
			if o.Stateless { // nothing lasts that a key could be made of
				if a := wantStatus(t, unkeyed, worker.StatusHardStop); a["reason"] != "key_missing" {
					t.Errorf("reason %v", a["reason"])
				}
				p.want(t, 1)
				return
			}
			wantStatus(t, unkeyed, worker.StatusDone)
			p.want(t, 2)
		})
	}
}
