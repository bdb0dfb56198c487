package imap_test

import (
	"bytes"
	"io"
	"log"
	"net"
	"sync"
	"testing"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/evidencetest"
	"github.com/landedhq/landed/providers/evidence/imap/imaptest"
)

// startMemory starts an IMAP server in this process with one folder.
func startMemory(t *testing.T, caps goimap.CapSet, folder string) (addr string, user *imapmemserver.User) {
	t.Helper()
	user = imapmemserver.NewUser(imaptest.User, imaptest.Password)
	if err := user.Create(folder, nil); err != nil {
		t.Fatalf("creating the folder: %v", err)
	}
	mem := imapmemserver.New()
	mem.AddUser(user)
	srv := imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return mem.NewSession(), nil, nil
		},
		Caps: caps, InsecureAuth: true, Logger: log.New(io.Discard, "", 0),
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listening: %v", err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(ln) }) // ends with Close
	t.Cleanup(func() {
		srv.Close()
		wg.Wait()
	})
	return ln.Addr().String(), user
}

// literal is a reader with a size.
type literal struct{ *bytes.Reader }

func (l literal) Size() int64 { return l.Reader.Size() }

// Another implementation, in IMAP4rev1 and rev2, with a configured folder whose
// name is not ASCII.
func TestConformanceOnMemoryServer(t *testing.T) {
	t.Parallel()
	for name, caps := range map[string]goimap.CapSet{
		"rev1": {goimap.CapIMAP4rev1: {}},
		"rev2": {goimap.CapIMAP4rev1: {}, goimap.CapIMAP4rev2: {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const folder = "Отправленные & mehr"
			addr, user := startMemory(t, caps, folder)
			tap := evidencetest.NewTap(t, addr)
			evidencetest.Conformance(t, evidencetest.Fixture{
				Open: func(t *testing.T) evidence.Adapter {
					cfg := config(tap.Addr())
					cfg.Mailbox = folder
					return open(t, cfg)
				},
				Put: func(t *testing.T, carrier string) {
					if _, err := user.Append(folder, literal{bytes.NewReader(carry(carrier))}, &goimap.AppendOptions{}); err != nil {
						t.Fatalf("appending: %v", err)
					}
				},
				Break:    broken,
				Requests: tap.Bytes,
				Secrets:  []string{imaptest.Password},
				ReadOnly: func(t *testing.T) { checkReadOnly(t, tap.Sent()) },
			})
		})
	}
}
