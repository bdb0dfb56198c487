package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/landedhq/landed/journal/postgres"
)

type auditCheckpointCmd struct {
	Config string `required:"" type:"existingfile" help:"The configuration, YAML."`
}

func (c *auditCheckpointCmd) Run(ctx context.Context, io stdio, log *slog.Logger) error {
	return withStore(ctx, c.Config, log, func(s *postgres.Store) error {
		p, err := s.Checkpoint(ctx)
		if err != nil {
			return err
		}
		return printJSON(io, p)
	})
}

type recoverCmd struct {
	Config       string    `required:"" type:"existingfile" help:"The configuration, YAML."`
	RestorePoint time.Time `required:"" help:"The last moment that the restored data knows, like 2026-11-30T03:00:00Z."`
	Reason       string    `required:"" help:"What happened; it goes to the audit trail."`
}

// Run parks what the restore brought back open, and lets work go on.
func (c *recoverCmd) Run(ctx context.Context, io stdio, log *slog.Logger) error {
	return withStore(ctx, c.Config, log, func(s *postgres.Store) error {
		n, err := s.Recover(ctx, osUser(), c.RestorePoint, c.Reason)
		if err != nil {
			return err
		}
		fmt.Fprintf(io.out, "the quarantine is over; %d effects were parked for a decision\n", n)
		return nil
	})
}

// readCheckpoint reads a kept checkpoint; nil if none is kept yet.
func readCheckpoint(path string) (*postgres.Checkpoint, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the audit checkpoint: %w", err)
	}
	var c postgres.Checkpoint
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("reading the audit checkpoint %s: %w: move the file away only if you know why it is broken", path, err)
	}
	return &c, nil
}

// writeCheckpoint replaces the file in one step.
func writeCheckpoint(path string, c postgres.Checkpoint) error {
	b, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("keeping the audit checkpoint: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".checkpoint-*")
	if err != nil {
		return fmt.Errorf("keeping the audit checkpoint: %w", err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // gone after the rename
	_, werr := f.Write(b)
	if err := errors.Join(werr, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("keeping the audit checkpoint: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("keeping the audit checkpoint: %w", err)
	}
	return nil
}
