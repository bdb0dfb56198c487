package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/client"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/providers/evidence/imap"
	"github.com/landedhq/landed/providers/evidence/imap/imaptest"
)

// workerEnv holds the job of a worker process.
const workerEnv = "LANDED_E2E_WORKER"

// Where a worker process stops, to be killed there.
const (
	stopNowhere   = ""
	stopDelivered = "delivered" // the mail is in the Sent folder, the commit is not made
	stopSending   = "sending"   // the mail may be under way as far as anybody knows; it is not
)

// job is what a worker process is told.
type job struct {
	Journal, Token string // the worker API
	IMAP, User     string // the mail account
	Tool           string // send_mail, or another that sends mail just so
	Run, Item      string // make the key
	Stop           string
}

func (j job) subject() string { return "Parcel " + j.Item + " is late" }

// letter is the arguments of the tool.
type letter struct {
	To      string `json:"to"`
	Subject string `json:"subject"`
}

// runWorker sends one mail under the journal. It says on standard output how
// far it got, one word a line.
func runWorker(text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	go func() { // whoever started it is gone
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(2)
	}()
	api, err := client.New(client.Config{BaseURL: j.Journal, Token: j.Token})
	if err != nil {
		return err
	}
	r := worker.NewRegistry()
	err = r.Register(worker.ToolSpec{
		Tool: journal.Tool{Name: j.Tool, Class: journal.ClassAtMostOnce, Provider: "mail", ClientTimeout: time.Second,
			DisplayFields: []string{"to", "subject"}},
		Tracked: true, Run: j.send,
	})
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := r.Sync(ctx, api); err != nil {
		return err
	}
	args, err := json.Marshal(letter{To: "customer@example.net", Subject: j.subject()})
	if err != nil {
		return err
	}
	a, err := worker.New(api, r, worker.Options{}).DoUntilSettled(ctx, worker.Call{
		Run: worker.Run{RootRun: j.Run, RootRunStartedAt: time.Now()}, Tool: j.Tool, Step: "tell-customer", Item: j.Item,
		Subject: j.subject(), Args: args, Lease: 3 * time.Second,
	})
	fmt.Println(string(a.Status), a.Attempt)
	return err
}

// send is the tool: it files the mail in the Sent folder, which stands for
// handing it to a server that files what it sent. The mail is what the call says,
// which a person may have corrected.
func (j job) send(ctx context.Context, call worker.Call) (worker.Outcome, error) {
	var l letter
	if err := json.Unmarshal(call.Args, &l); err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	ref, err := worker.RefFrom(ctx)
	if err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	headers, err := imap.Carrier{}.Headers(ref)
	if err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	fields := []imaptest.Field{{Name: "To", Value: l.To}, {Name: "Subject", Value: l.Subject}}
	for _, h := range headers {
		fields = append(fields, imaptest.Field{Name: h.Name, Value: h.Value})
	}
	if err := worker.Preparing(ctx); err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	c, err := imapclient.DialInsecure(j.IMAP, nil)
	if err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.Login(j.User, imaptest.Password).Wait(); err != nil {
		return worker.Outcome{}, worker.NotSent(err)
	}
	if err := worker.Sending(ctx); err != nil {
		return worker.Outcome{}, err
	}
	j.stopAt(stopSending)
	uid, err := appendMail(c, imaptest.Mail(fields...))
	if err != nil {
		return worker.Outcome{}, worker.Unknown(err)
	}
	j.stopAt(stopDelivered)
	return worker.Outcome{ProviderID: fmt.Sprintf("%s/%d", imaptest.SentFolder, uid)}, nil
}

// stopAt says where it is and waits for its end, if it was told so.
func (j job) stopAt(where string) {
	if j.Stop == where {
		fmt.Println(where)
		select {}
	}
}

func appendMail(c *imapclient.Client, mail []byte) (uint32, error) {
	cmd := c.Append(imaptest.SentFolder, int64(len(mail)), nil)
	_, werr := cmd.Write(mail)
	cerr := cmd.Close()
	data, err := cmd.Wait()
	if err := errors.Join(werr, cerr, err); err != nil {
		return 0, err
	}
	return uint32(data.UID), nil
}

// process is a worker process as the test sees it.
type process struct {
	cmd   *exec.Cmd
	lines chan string
}

// startWorker starts a worker process. It dies with the test at the latest.
func startWorker(t *testing.T, j job) *process {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), workerEnv+"="+string(text))
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting a worker: %v", err)
	}
	p := &process{cmd: cmd, lines: make(chan string, 16)}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill() // it has ended, or it waits
		for range p.lines {
		}
		_ = cmd.Wait()
	})
	return p
}

// says waits until the worker says one of these lines.
func (p *process) says(t *testing.T, want ...string) {
	t.Helper()
	deadline := time.After(time.Minute)
	var heard []string
	for {
		select {
		case line, more := <-p.lines:
			heard = append(heard, line)
			if slices.Contains(want, line) {
				return
			}
			if !more || strings.HasPrefix(line, "failed") {
				t.Fatalf("the worker said %q, want one of %q", heard, want)
			}
		case <-deadline:
			t.Fatalf("the worker said %q within a minute, want one of %q", heard, want)
		}
	}
}

// kill ends the worker as a lost machine does: nothing is said, nothing undone.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatalf("killing the worker: %v", err)
	}
}
