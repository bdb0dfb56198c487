package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
	landedmcp "github.com/landedhq/landed/journal/worker/mcp"
)

// config is the file that --config names.
type config struct {
	Journal struct {
		URL   string `json:"url"`
		Token string `json:"token"` // env:NAME or file:PATH
	} `json:"journal"`
	Desk           string   `json:"desk"`
	Namespace      string   `json:"namespace"`
	KeyBySession   bool     `json:"key_by_session"`
	PassUndeclared bool     `json:"pass_undeclared"`
	AnswerWithin   duration `json:"answer_within"`
	Tools          []tool   `json:"tools"`
}

// tool is one side-effecting tool of the child.
type tool struct {
	Name           string        `json:"name"`
	As             string        `json:"as"`
	Class          journal.Class `json:"class"`
	Provider       string        `json:"provider"`
	KeyWindow      duration      `json:"key_window"`
	ClientTimeout  duration      `json:"client_timeout"`
	IdentityFields []string      `json:"identity_fields"`
	DisplayFields  []string      `json:"display_fields"`
	RefInto        string        `json:"ref_into"`
	KeyInto        string        `json:"key_into"`
	KeyDashed      bool          `json:"key_dashed"`
	AsksFirst      bool          `json:"asks_first"`
}

// duration is written like 90s or 24h.
type duration time.Duration

func (d *duration) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return fmt.Errorf("%s is not a duration like \"90s\"", raw)
	}
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed < 0 {
		return fmt.Errorf("%q is not a duration like \"90s\"", text)
	}
	*d = duration(parsed)
	return nil
}

// readConfig refuses what it does not know: a misspelt option must not be a
// default.
func readConfig(path string) (config, error) {
	var c config
	raw, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("reading the configuration: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return c, fmt.Errorf("reading the configuration %s: %w", path, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return c, fmt.Errorf("reading the configuration %s: something follows the object", path)
	}
	if c.Namespace != "" {
		if err := journal.ValidateName("namespace", c.Namespace); err != nil {
			return c, fmt.Errorf("reading the configuration %s: %w", path, err)
		}
	}
	c.Journal.Token, err = secret(c.Journal.Token)
	return c, err
}

// secret reads what must not stand in a configuration.
func secret(from string) (string, error) {
	switch kind, where, _ := strings.Cut(from, ":"); kind {
	case "env":
		if v := os.Getenv(where); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("journal.token: the environment variable %s is not set", where)
	case "file":
		raw, err := os.ReadFile(where)
		if err != nil {
			return "", fmt.Errorf("journal.token: %w", err)
		}
		return strings.TrimSpace(string(raw)), nil
	}
	return "", errors.New(`journal.token must be "env:NAME" or "file:PATH"`)
}

func (c config) declared() []landedmcp.Tool {
	var out []landedmcp.Tool
	for _, t := range c.Tools {
		out = append(out, landedmcp.Tool{
			Tool: journal.Tool{
				Name: t.Name, Class: t.Class, Provider: t.Provider, KeyWindow: time.Duration(t.KeyWindow),
				ClientTimeout: time.Duration(t.ClientTimeout), IdentityFields: t.IdentityFields, DisplayFields: t.DisplayFields,
			},
			As: t.As, RefInto: t.RefInto, KeyInto: t.KeyInto, KeyDashed: t.KeyDashed, AsksFirst: t.AsksFirst,
		})
	}
	return out
}
