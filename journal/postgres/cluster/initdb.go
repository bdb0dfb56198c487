package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Superuser is the only role that the socket lets in.
const Superuser = "landed"

// builtinLocaleMajor is the first version with a locale provider of its own,
// the same on every system:
// https://www.postgresql.org/docs/17/locale.html#LOCALE-PROVIDERS
const builtinLocaleMajor = 17

// initialise makes the data directory. It appears under its name only when it
// is complete, so a killed initdb leaves nothing that looks like data.
func initialise(ctx context.Context, p *place, b Binaries, acc account) error {
	leftovers, _ := filepath.Glob(filepath.Join(p.home, "data.new-*"))
	for _, old := range leftovers {
		_ = os.RemoveAll(old)
	}
	fresh, err := os.MkdirTemp(p.home, "data.new-")
	if err != nil {
		return fmt.Errorf("making the data directory: %w", err)
	}
	defer os.RemoveAll(fresh)
	if err := acc.give(fresh); err != nil {
		return fmt.Errorf("giving the data directory to %s: %w", acc.name, err)
	}
	if err := runInitdb(ctx, p, b, acc, fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, p.data()); err != nil {
		return fmt.Errorf("naming the data directory: %w", err)
	}
	return syncDir(p.home)
}

// runInitdb tries the locales in turn: byte order everywhere, so that sorting
// does not depend on the machine, and Unicode's letters where the system has
// them, so that case-insensitive search finds more than ASCII.
func runInitdb(ctx context.Context, p *place, b Binaries, acc account, dir string) error {
	locales := [][]string{{"--lc-collate=C", "--lc-ctype=C.UTF-8"}, nil}
	if b.Major >= builtinLocaleMajor {
		locales = [][]string{{"--locale-provider=builtin", "--builtin-locale=C.UTF-8"}}
	}
	var out string
	var err error
	for _, locale := range locales {
		args := []string{"-D", dir, "-U", Superuser, "--encoding=UTF8", "--locale=C", "--auth=peer", "--data-checksums"}
		if p.temporary {
			args = append(args, "--no-sync")
		}
		cmd := exec.Command(b.path("initdb"), append(args, locale...)...)
		cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", environment(), attributes(acc)
		out, err = run(ctx, cmd)
		if err == nil || ctx.Err() != nil || !strings.Contains(out, "invalid locale") {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("initdb of PostgreSQL %s: %w\n%s", b.Version, err, strings.TrimSpace(out))
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	return nil
}
