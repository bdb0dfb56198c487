package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// MinMajor is the oldest major version of PostgreSQL that the journal runs on.
const MinMajor = 15

// BinEnv names the environment variable that points to the server's binaries.
const BinEnv = "LANDED_POSTGRES_BIN"

// Binaries is a folder with postgres and initdb of one version.
type Binaries struct {
	Dir     string // links resolved
	Major   int
	Version string // as postgres prints it, such as "15.18"
}

func (b Binaries) path(program string) string { return filepath.Join(b.Dir, program) }

// FindBinaries returns the server's binaries: of cfg.BinDir, else of
// LANDED_POSTGRES_BIN, else of the usual folders with the newest version first,
// else of PATH, else downloaded once into the cache. A folder that was named is
// the only one looked at. With data in cfg.Dir, only the version that made them
// will do. It returns ErrNoBinaries, ErrVersion or ErrChecksum.
func FindBinaries(ctx context.Context, cfg Config) (Binaries, error) {
	owner, major := unowned, 0
	if cfg.Dir != "" {
		p := &place{dir: cfg.Dir, home: cfg.Dir}
		var err error
		if owner, major, err = p.existing(); err != nil {
			return Binaries{}, err
		}
	}
	acc, err := chooseAccount(owner)
	if err != nil {
		return Binaries{}, err
	}
	return newFinder(cfg, acc, major).find(ctx)
}

// finder looks for binaries. Its fields stand apart from the machine so that a
// test can have one without Postgres.
type finder struct {
	named    string   // the only folder to look at; "" = search
	source   string   // who named it
	patterns []string // usual folders
	path     string   // PATH
	account  account  // who runs them
	major    int      // the version that made the data; 0 = any
	dir      string   // whose data these are, for messages
	fetch    func(context.Context) (string, error)
	build    build // what fetch brings
	rejected []string
	majors   []int
}

func newFinder(cfg Config, acc account, major int) *finder {
	f := &finder{named: cfg.BinDir, source: "the given folder", patterns: usualFolders(), path: os.Getenv("PATH"), account: acc, major: major, dir: cfg.Dir}
	if f.named == "" {
		f.named, f.source = os.Getenv(BinEnv), BinEnv
	}
	f.build, _ = pinned(runtime.GOOS, runtime.GOARCH)
	if cfg.Download {
		f.fetch = newFetcher(cfg, f.build).fetch
	}
	return f
}

func (f *finder) find(ctx context.Context) (Binaries, error) {
	if f.named != "" {
		b, err := f.try(ctx, f.named)
		if err != nil {
			return Binaries{}, fmt.Errorf("%w: %s (%s): %w", ErrNoBinaries, f.named, f.source, err)
		}
		if !f.fits(b) {
			return Binaries{}, f.failure("only the named folder was looked at")
		}
		return b, nil
	}
	for _, dir := range f.candidates() {
		b, err := f.try(ctx, dir)
		if ctx.Err() != nil {
			return Binaries{}, ctx.Err()
		}
		if err != nil {
			f.rejected = append(f.rejected, dir+": "+err.Error())
			continue
		}
		if f.fits(b) {
			return b, nil
		}
	}
	return f.download(ctx)
}

func (f *finder) download(ctx context.Context) (Binaries, error) {
	switch {
	case f.fetch == nil:
		return Binaries{}, f.failure("downloads are off")
	case f.build.sum == "":
		return Binaries{}, f.failure("there is no build to download for " + runtime.GOOS + "/" + runtime.GOARCH)
	case f.major != 0 && f.major != f.build.major():
		return Binaries{}, f.failure("the build to download is version " + f.build.version)
	}
	dir, err := f.fetch(ctx)
	if ctx.Err() != nil {
		return Binaries{}, ctx.Err()
	}
	if errors.Is(err, ErrChecksum) {
		return Binaries{}, err
	}
	if err != nil {
		return Binaries{}, f.failure("the download failed: " + err.Error())
	}
	b, err := f.try(ctx, dir)
	if err != nil {
		return Binaries{}, f.failure("the downloaded build does not run on this system: " + err.Error())
	}
	if !f.fits(b) {
		return Binaries{}, f.failure("the downloaded build is version " + b.Version)
	}
	return b, nil
}

// fits reports whether b may be used, and notes why not.
func (f *finder) fits(b Binaries) bool {
	f.majors = append(f.majors, b.Major)
	if f.major != 0 && b.Major != f.major {
		f.rejected = append(f.rejected, fmt.Sprintf("%s: version %s", b.Dir, b.Version))
		return false
	}
	if b.Major < MinMajor {
		f.rejected = append(f.rejected, fmt.Sprintf("%s: version %s is older than %d", b.Dir, b.Version, MinMajor))
		return false
	}
	return true
}

// candidates lists folders that hold postgres, the usual ones newest first.
func (f *finder) candidates() []string {
	var dirs []string
	for _, pattern := range f.patterns {
		found, _ := filepath.Glob(pattern)
		slices.SortStableFunc(found, func(a, b string) int { return folderVersion(b) - folderVersion(a) })
		dirs = append(dirs, found...)
	}
	// Newest first over all patterns too; folders without a version come last.
	slices.SortStableFunc(dirs, func(a, b string) int { return folderVersion(b) - folderVersion(a) })
	dirs = append(dirs, filepath.SplitList(f.path)...)
	seen := map[string]bool{}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		if !filepath.IsAbs(dir) {
			return true // a relative PATH entry is whatever folder we happen to be in
		}
		real, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
		if err != nil || seen[real] {
			return true
		}
		seen[real] = true
		return false
	})
}

// try resolves dir to the folder that holds both programs and asks postgres
// for its version, as the account that will run it.
func (f *finder) try(ctx context.Context, dir string) (Binaries, error) {
	dir, err := resolve(dir)
	if err != nil {
		return Binaries{}, err
	}
	if !f.account.reaches(dir) {
		return Binaries{}, fmt.Errorf("user %s, who runs the server, cannot enter that folder", f.account.name)
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := f.version(ctx, dir)
	for errors.Is(err, syscall.ETXTBSY) && ctx.Err() == nil {
		// Just unpacked, and a child forked meanwhile still has it open: golang.org/issue/22315
		runtime.Gosched()
		out, err = f.version(ctx, dir)
	}
	if err != nil {
		return Binaries{}, fmt.Errorf("postgres --version: %w %s", err, strings.TrimSpace(string(out)))
	}
	version, major, err := parseVersion(string(out))
	return Binaries{Dir: dir, Major: major, Version: version}, err
}

func (f *finder) version(ctx context.Context, dir string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version")
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", environment(), attributes(f.account)
	return cmd.CombinedOutput()
}

// resolve follows links: a postgres on PATH often is one into a version folder
// where initdb and the libraries are.
func resolve(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
	if err != nil {
		return "", fmt.Errorf("no postgres there: %w", err)
	}
	for _, d := range []string{filepath.Dir(real), dir} {
		if info, err := os.Stat(filepath.Join(d, "initdb")); err == nil && !info.IsDir() {
			return d, nil
		}
	}
	return "", fmt.Errorf("postgres is there, initdb is not: install the complete server package")
}

// parseVersion reads "postgres (PostgreSQL) 15.18 (Debian …)".
func parseVersion(out string) (version string, major int, err error) {
	m := regexp.MustCompile(`\(PostgreSQL\) ((\d{1,4})\S*)`).FindStringSubmatch(out)
	if m == nil {
		return "", 0, fmt.Errorf("not a version of PostgreSQL: %.100q", out)
	}
	major, err = strconv.Atoi(m[2])
	return m[1], major, err
}

// folderVersion is the last number in a folder's name as far as it tells a
// major version, 0 if it does not.
func folderVersion(dir string) int {
	numbers := regexp.MustCompile(`\d{1,4}`).FindAllString(strings.TrimSuffix(dir, "/bin"), -1)
	if len(numbers) == 0 {
		return 0
	}
	last := numbers[len(numbers)-1]
	if strings.Contains(dir, "."+last) && len(numbers) > 1 {
		last = numbers[len(numbers)-2] // 9.6
	}
	n, _ := strconv.Atoi(last)
	return n
}
