package e2e_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/providers/evidence/imap/imaptest"
)

// desk is the real binary, serving, with everything around it.
type desk struct {
	URL, Token string
	binary     string
	config     string // path of the configuration
	env        []string
	mail       *imaptest.Dovecot
	idp        *idp
	sink       *sink
}

const mailUser = "shop"

// configuration makes everything that Landed waits for short: a look is
// conclusive seconds after the worker's death.
var configuration = template.Must(template.New("landed.yaml").Parse(`
listen: {{.Listen}}
external_url: http://{{.Listen}}
database: env:LANDED_DATABASE
every: 500ms
login:
  issuer: {{.IDP.Issuer}}
  client_id: {{.IDP.ClientID}}
  client_secret: env:LANDED_CLIENT_SECRET
  allow_insecure_issuer: true
  trust_prompt: {{.TrustPrompt}}
  scopes: [openid, profile, email, groups]
  roles:
    operator: [landed-operators]
    approver: [landed-approvers]
    auditor: [landed-auditors]
    viewer: [landed-viewers]
providers:
  mail:
    imap:
      address: {{.Mail}}
      tls: none
      username: {{.User}}
      password: env:LANDED_MAIL_PASSWORD
      sent_appended: true
      index_lag: 1s
      processing_horizon: 1s
alerts:
  - name: bridge
    webhook:
      url: {{.Sink.URL}}
      secret: env:LANDED_ALERT_SECRET
      allow_private: true
policy:
  alert_interval: 1s
{{.More}}`))

// setup is what one desk has that another has not.
type setup struct {
	// Provider starts the identity provider; nil = Dex.
	Provider    func(t *testing.T, callback string) *idp
	TrustPrompt bool
	More        string // YAML: the rest of the policy, and what comes after it
}

// startDesk starts Postgres, Dovecot, an identity provider, a receiver of alerts
// and Landed.
func startDesk(t *testing.T, with setup) *desk {
	t.Helper()
	if with.Provider == nil {
		with.Provider = startDex
	}
	listen := freeAddress(t)
	d := &desk{
		URL: "http://" + listen, binary: build(t), config: filepath.Join(t.TempDir(), "landed.yaml"),
		mail: imaptest.StartDovecot(t), idp: with.Provider(t, "http://"+listen+"/login/callback"), sink: startSink(t),
	}
	var text bytes.Buffer
	err := configuration.Execute(&text, map[string]any{"Listen": listen, "IDP": d.idp, "Mail": d.mail.Addr, "User": mailUser, "Sink": d.sink,
		"TrustPrompt": with.TrustPrompt, "More": with.More})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.config, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	d.env = append(os.Environ(), "LANDED_DATABASE="+journaltest.Database(t, nil), "LANDED_CLIENT_SECRET="+d.idp.ClientSecret,
		"LANDED_MAIL_PASSWORD="+imaptest.Password, "LANDED_ALERT_SECRET="+d.sink.Secret)
	d.run(t, "migrate", "--config", d.config)
	d.Token = strings.TrimSpace(d.run(t, "token", "create", "shop-worker", "--config", d.config))
	d.serve(t)
	return d
}

// build compiles the binary, with the race detector if the test has it: then the
// test's own compilation is reused.
func build(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "landed")
	args := []string{"build", "-buildvcs=false", "-o", out}
	if raceDetector {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./cmd/landed")...)
	cmd.Dir = "../../.." // the main module
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building landed: %v\n%s", err, text)
	}
	return out
}

// run runs one command to its end and returns what it printed.
func (d *desk) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(d.binary, args...)
	cmd.Env = d.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("landed %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// serve starts `landed serve` and waits until it is ready. It must stop when it
// is asked to.
func (d *desk) serve(t *testing.T) {
	t.Helper()
	log, err := os.Create(filepath.Join(artefacts(t), "landed.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(d.binary, "serve", "--config", d.config)
	cmd.Env, cmd.Stdout, cmd.Stderr = d.env, log, log
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting landed: %v", err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() {
		stop(t, cmd, exited)
		_ = log.Close()
		text, err := os.ReadFile(log.Name())
		if bytes.Contains(text, []byte("DATA RACE")) || bytes.Contains(text, []byte("panic:")) {
			t.Errorf("landed's log holds a race or a panic: %s", log.Name())
		}
		if t.Failed() {
			t.Logf("landed said (%v):\n%s", err, text[max(0, len(text)-8000):])
		}
	})
	for deadline := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
		resp, err := http.Get(d.URL + "/readyz")
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case err := <-exited:
			exited <- err
			t.Fatalf("landed ended: %v", err)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("landed is not ready: %v", err)
		}
	}
}

func stop(t *testing.T, cmd *exec.Cmd, exited chan error) {
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Errorf("landed had ended before: %v", <-exited)
		return
	}
	select {
	case err := <-exited:
		if err != nil {
			t.Errorf("landed did not stop cleanly: %v", err)
		}
	case <-time.After(45 * time.Second):
		t.Error("landed did not stop, killing it")
		_ = cmd.Process.Kill()
		<-exited
	}
}

// job is the work order for one effect.
func (d *desk) job(run, item, stop string) job {
	return job{Journal: d.URL, Token: d.Token, IMAP: d.mail.Addr, User: mailUser, Tool: "send_mail", Run: run, Item: item, Stop: stop}
}

// mails counts the mails in the Sent folder.
func (d *desk) mails(t *testing.T) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscanf(d.mail.Snapshot(t, mailUser, imaptest.SentFolder), "%d messages", &n); err != nil {
		t.Fatalf("counting the mails: %v", err)
	}
	return n
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// artefacts is where screenshots and logs are kept.
func artefacts(t *testing.T) string {
	t.Helper()
	const dir = "../../../.ci/artefacts/e2e"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
