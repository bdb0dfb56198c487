package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/landedhq/landed/cmd/landed/demo"
	"github.com/landedhq/landed/journal/journaltest"
)

// TestMain lets this test binary be the demo's agent, as the real one is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == demo.AgentArg {
		os.Exit(exitStatus(run(context.Background(), os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr})))
	}
	journaltest.Main(m)
}

// output is a buffer that a running command writes and a test reads.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// TestExitStatus: 0, 1 for failed, 2 for usage; errors say what to do.
func TestExitStatus(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want int
		says string
	}{
		{"version", []string{"version"}, exitOK, "landed"},
		{"help", []string{"--help"}, exitOK, "Did it land?"},
		{"no command", nil, exitUsage, "expected one of"},
		{"unknown flag", []string{"serve", "--port", "1"}, exitUsage, "unknown flag"},
		{"missing configuration", []string{"serve"}, exitUsage, "--config"},
		{"unreadable configuration", []string{"check", "--config", "main.go"}, exitFailed, "main.go"},
		{"a guide that does not exist", []string{"guide", "stripes"}, exitUsage, "there is no guide \"stripes\", there are adyen.transfer, "},
		{"a language that has none", []string{"guide", "stripe", "--lang", "cobol"}, exitUsage, "--lang must be one of"},
		{"busy address", []string{"demo", "--listen", "256.0.0.1:1"}, exitFailed, "listening on 256.0.0.1:1"},
		{"bad external address", []string{"demo", "--listen", "127.0.0.1:0", "--url", "ftp://x"}, exitFailed, "must be an address that browsers use"},
		{"the agent's own argument", []string{demo.AgentArg}, exitFailed, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out output
			err := run(t.Context(), tt.args, stdio{strings.NewReader(""), &out, &out})
			if got := exitStatus(err); got != tt.want {
				t.Errorf("exit status %d (%v), want %d", got, err, tt.want)
			}
			if !strings.Contains(out.String(), tt.says) {
				t.Errorf("it printed %q, want %q", out.String(), tt.says)
			}
		})
	}
}
