package imaptest

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/landedhq/landed/journal/journaltest"
)

// SentFolder is the name of Dovecot's \Sent folder: not "Sent".
const SentFolder = "Gesendet"

// Dovecot is a real Dovecot on loopback. Any user name works with Password; each
// has mailboxes of their own.
type Dovecot struct {
	Addr    string         // plain, with STARTTLS
	TLSAddr string         // TLS from the first byte
	CA      *x509.CertPool // trusts the server's certificate for 127.0.0.1
}

// StartDovecot starts a Dovecot that ends with the test.
func StartDovecot(t testing.TB) *Dovecot {
	t.Helper()
	bin := findDovecot()
	if bin == "" {
		journaltest.Missing(t, "Dovecot", "apt-get install --no-install-recommends dovecot-imapd")
	}
	// A folder of our own: the mail user must be able to reach it, and t.TempDir
	// has a private parent.
	dir, err := os.MkdirTemp("", "landed-dovecot-")
	if err != nil {
		t.Fatalf("making a folder: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Dovecot's log:\n%s", tail(filepath.Join(dir, "log")))
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("removing Dovecot's folder: %v", err)
		}
	})
	const tries = 3 // a free port can be taken before Dovecot binds it
	for try := 1; ; try++ {
		d, err := startDovecot(t, bin, dir)
		if err == nil {
			return d
		}
		if try == tries {
			t.Fatalf("starting Dovecot: %v\n%s", err, tail(filepath.Join(dir, "log")))
		}
	}
}

func findDovecot() string {
	for _, name := range []string{"dovecot", "/usr/sbin/dovecot", "/usr/local/sbin/dovecot"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	return ""
}

func startDovecot(t testing.TB, bin, dir string) (*Dovecot, error) {
	plain, implicit := freePort(t), freePort(t)
	ca, err := writeCertificate(dir)
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "dovecot.conf")
	if err := writeConfig(conf, dir, plain, implicit); err != nil {
		return nil, err
	}
	cmd := exec.Command(bin, "-F", "-c", conf)
	cmd.SysProcAttr = childAttr()
	exited := make(chan error, 1)
	started := make(chan error, 1)
	go func() {
		// The kernel ends the child when the thread that started it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			exited <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	d := &Dovecot{Addr: fmt.Sprintf("127.0.0.1:%d", plain), TLSAddr: fmt.Sprintf("127.0.0.1:%d", implicit), CA: ca}
	if err := awaitGreeting(d.Addr, exited); err != nil {
		stopDovecot(t, cmd, exited)
		return nil, err
	}
	t.Cleanup(func() { stopDovecot(t, cmd, exited) })
	return d, nil
}

// stopDovecot ends the master, which ends its children, and makes sure of it.
func stopDovecot(t testing.TB, cmd *exec.Cmd, exited chan error) {
	_ = cmd.Process.Signal(os.Interrupt) // it may have ended by itself
	select {
	case <-exited:
	case <-time.After(10 * time.Second):
		t.Error("Dovecot did not stop, killing it")
		killGroup(cmd.Process.Pid)
		<-exited
	}
	exited <- nil // stopping twice is fine
	for deadline := time.Now().Add(10 * time.Second); groupAlive(cmd.Process.Pid); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("Dovecot left processes behind, killing them")
			killGroup(cmd.Process.Pid)
			return
		}
	}
}

func awaitGreeting(addr string, exited chan error) error {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		select {
		case err := <-exited:
			exited <- err
			return fmt.Errorf("it ended: %v", err)
		default:
		}
		if greeted(addr) {
			return nil
		}
		// What we wait for has no signal: the port opens some milliseconds later.
		<-time.After(5 * time.Millisecond)
	}
	return fmt.Errorf("no greeting at %s", addr)
}

func greeted(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	line, err := bufio.NewReader(c).ReadString('\n')
	return err == nil && strings.HasPrefix(line, "* OK")
}

func freePort(t testing.TB) int {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listening: %v", err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

// mailUser is who owns the mail, with the group's name: Dovecot refuses root.
func mailUser() (u *user.User, group string, err error) {
	if u, err = user.Current(); err != nil {
		return nil, "", err
	}
	if u.Uid == "0" {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, "", err
		}
	}
	g, err := user.LookupGroupId(u.Gid)
	if err != nil {
		return nil, "", err
	}
	return u, g.Name, nil
}

func writeConfig(path, dir string, plain, implicit int) error {
	u, group, err := mailUser()
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the mail user must pass through
		return err
	}
	mail := filepath.Join(dir, "mail")
	if err := os.MkdirAll(mail, 0o777); err != nil { //nolint:gosec // as above
		return err
	}
	if err := os.Chmod(mail, 0o777); err != nil { //nolint:gosec // as above
		return err
	}
	r := strings.NewReplacer("DIR", dir, "NAME", u.Username, "GROUP", group, "UID", u.Uid, "GID", u.Gid, "PASSWORD", Password, "SENT", SentFolder,
		"IMPLICIT", fmt.Sprint(implicit), "PLAIN", fmt.Sprint(plain))
	return os.WriteFile(path, []byte(r.Replace(dovecotConf)), 0o600)
}

const dovecotConf = `
protocols = imap
listen = 127.0.0.1
base_dir = DIR/run
state_dir = DIR/run
log_path = DIR/log
default_internal_user = NAME
default_login_user = NAME
default_internal_group = GROUP
first_valid_uid = 1
first_valid_gid = 1
mail_location = maildir:DIR/mail/%u
disable_plaintext_auth = no
auth_mechanisms = plain login
ssl = yes
ssl_cert = <DIR/cert.pem
ssl_key = <DIR/key.pem
passdb {
  driver = static
  args = password=PASSWORD
}
userdb {
  driver = static
  args = uid=UID gid=GID home=DIR/mail/%u
}
namespace inbox {
  inbox = yes
  separator = /
  mailbox SENT {
    special_use = \Sent
    auto = create
  }
  mailbox Ablage {
    auto = create
  }
}
service imap-login {
  chroot =
  inet_listener imap {
    port = PLAIN
  }
  inet_listener imaps {
    port = IMPLICIT
    ssl = yes
  }
}
service anvil {
  chroot =
}
`

// writeCertificate makes a certificate for 127.0.0.1 and returns a pool that
// trusts it.
func writeCertificate(dir string) (*x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "imaptest"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	for name, b := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "EC PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(b), 0o600); err != nil {
			return nil, err
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return pool, nil
}

// Append puts a mail into a mailbox and returns its UID.
func (d *Dovecot) Append(t testing.TB, username, mailbox string, mail []byte, flags ...goimap.Flag) goimap.UID {
	t.Helper()
	c := d.client(t, username)
	defer c.Close()
	cmd := c.Append(mailbox, int64(len(mail)), &goimap.AppendOptions{Flags: flags})
	if _, err := cmd.Write(mail); err != nil {
		t.Fatalf("appending: %v", err)
	}
	if err := cmd.Close(); err != nil {
		t.Fatalf("appending: %v", err)
	}
	data, err := cmd.Wait()
	if err != nil {
		t.Fatalf("appending: %v", err)
	}
	return data.UID
}

// Snapshot describes a mailbox with every message's UID, flags and size, and
// what EXAMINE says of it: compare two to see whether anything changed.
func (d *Dovecot) Snapshot(t testing.TB, username, mailbox string) string {
	t.Helper()
	c := d.client(t, username)
	defer c.Close()
	sel, err := c.Select(mailbox, &goimap.SelectOptions{ReadOnly: true}).Wait()
	if err != nil {
		t.Fatalf("examining: %v", err)
	}
	out := fmt.Sprintf("%d messages, uidvalidity %d, uidnext %d\n", sel.NumMessages, sel.UIDValidity, sel.UIDNext)
	if sel.NumMessages == 0 {
		return out
	}
	var all goimap.SeqSet
	all.AddRange(1, sel.NumMessages)
	msgs, err := c.Fetch(all, &goimap.FetchOptions{UID: true, Flags: true, RFC822Size: true}).Collect()
	if err != nil {
		t.Fatalf("fetching: %v", err)
	}
	for _, m := range msgs {
		out += fmt.Sprintf("%d %v %d\n", m.UID, m.Flags, m.RFC822Size)
	}
	return out
}

func (d *Dovecot) client(t testing.TB, username string) *imapclient.Client {
	t.Helper()
	c, err := imapclient.DialInsecure(d.Addr, nil)
	if err != nil {
		t.Fatalf("connecting to Dovecot: %v", err)
	}
	if err := c.Login(username, Password).Wait(); err != nil {
		c.Close()
		t.Fatalf("logging in to Dovecot: %v", err)
	}
	return c
}

func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-4000):])
}
