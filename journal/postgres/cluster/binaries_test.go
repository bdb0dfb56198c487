package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeServer makes a folder whose postgres only knows its version.
func fakeServer(t testing.TB, dir, version string) string {
	t.Helper()
	write(t, filepath.Join(dir, "postgres"), "#!/bin/sh\necho 'postgres (PostgreSQL) "+version+"'\n")
	write(t, filepath.Join(dir, "initdb"), "#!/bin/sh\nexit 1\n")
	return dir
}

// machine is a finder on a machine with nothing but what base holds.
func machine(base string, major int) *finder {
	return &finder{
		patterns: []string{base + "/lib/postgresql/*/bin", base + "/opt/postgresql@*/bin"},
		path:     base + "/bin:relative/bin:" + base + "/absent",
		account:  account{uid: os.Geteuid(), name: "tester"},
		major:    major,
		dir:      "/srv/demo",
		build:    build{version: "17.10", sum: "00"},
	}
}

func TestFind_Order(t *testing.T) {
	t.Parallel()
	base := publicDir(t)
	v9 := fakeServer(t, base+"/lib/postgresql/9.6/bin", "9.6.24")
	v15 := fakeServer(t, base+"/lib/postgresql/15/bin", "15.18 (Debian 15.18-0+deb12u1)")
	v16 := fakeServer(t, base+"/opt/postgresql@16/bin", "16.4 (Homebrew)")
	v18 := fakeServer(t, base+"/elsewhere", "18beta1")
	if err := os.MkdirAll(base+"/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(v18+"/postgres", base+"/bin/postgres"); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		named string
		major int
		want  Binaries
		err   error
	}{
		"newest of the usual folders":     {want: Binaries{v16, 16, "16.4"}},
		"the version of the data":         {major: 15, want: Binaries{v15, 15, "15.18"}},
		"on PATH, through the link":       {major: 18, want: Binaries{v18, 18, "18beta1"}},
		"a named folder, without search":  {named: v18, want: Binaries{v18, 18, "18beta1"}},
		"a named folder that does not do": {named: v16, major: 15, err: ErrVersion},
		"a named folder that is too old":  {named: v9, err: ErrNoBinaries},
		"a named folder without postgres": {named: base, err: ErrNoBinaries},
		"no such version":                 {major: 14, err: ErrVersion},
		"an old version, for old data":    {major: 9, err: ErrVersion},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := machine(base, test.major)
			f.named, f.source = test.named, BinEnv
			got, err := f.find(t.Context())
			if !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
				t.Fatalf("err %v, want %v", err, test.err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFind_NothingAvailableNamesEveryWay(t *testing.T) {
	t.Parallel()
	base := publicDir(t)
	write(t, base+"/bin/postgres", "#!/bin/sh\n")
	tests := map[string]struct {
		goos  string
		major int
		want  []string
		never string
	}{
		"linux":                  {"linux", 0, []string{"apt install postgresql;", "dnf install", "zypper", "pacman", "apk add", "--postgres-bin", BinEnv, RegistryEnv}, "brew"},
		"macOS":                  {"darwin", 0, []string{"brew install postgresql@17", "Postgres.app", "--postgres-bin", BinEnv}, "apt"},
		"a data directory of 14": {"linux", 14, []string{"apt install postgresql-14;", "apk add postgresql14", "another, empty data directory"}, RegistryEnv},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Join(ways(test.goos, test.major), "\n")
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing in:\n%s", want, text)
				}
			}
			if strings.Contains(text, test.never) {
				t.Errorf("%q does not belong into:\n%s", test.never, text)
			}
		})
	}
	reasons := map[string]func(*finder){
		"downloads are off":       func(*finder) {},
		"there is no build":       func(f *finder) { f.fetch, f.build = failing("x"), build{} },
		"lookup: no such host":    func(f *finder) { f.fetch = failing("lookup: no such host") },
		"initdb is not":           func(*finder) {},
		"PostgreSQL 15 or newer":  func(*finder) {},
		"does not run on this sy": func(f *finder) { f.fetch = func(context.Context) (string, error) { return base, nil } },
	}
	for want, change := range reasons {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			f := machine(base, 0)
			change(f)
			_, err := f.find(t.Context())
			if !errors.Is(err, ErrNoBinaries) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ways(runtime.GOOS, 0)[0]) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func failing(text string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return "", errors.New(text) }
}

func TestFind_DownloadsOnlyTheVersionOfTheData(t *testing.T) {
	t.Parallel()
	base := publicDir(t)
	fetched := fakeServer(t, base+"/cache", "17.10")
	for major, want := range map[int]error{0: nil, 17: nil, 16: ErrNoBinaries} {
		f := machine(base, major)
		f.fetch = func(context.Context) (string, error) { return fetched, nil }
		got, err := f.find(t.Context())
		if !errors.Is(err, want) || (err == nil && got.Dir != fetched) {
			t.Errorf("data of %d: %+v, %v", major, got, err)
		}
	}
}

func TestFind_ChangedDownloadIsNotAMissingServer(t *testing.T) {
	t.Parallel()
	f := machine(publicDir(t), 0)
	f.fetch = func(context.Context) (string, error) { return "", fmt.Errorf("%w: …", ErrChecksum) }
	_, err := f.find(t.Context())
	if !errors.Is(err, ErrChecksum) || errors.Is(err, ErrNoBinaries) {
		t.Errorf("got %v", err)
	}
}

func TestStart_VersionOfTheDataDecides(t *testing.T) {
	t.Parallel()
	probe(t)
	dir := publicDir(t)
	data := filepath.Join(dir, "data")
	write(t, filepath.Join(data, "PG_VERSION"), "12\n")
	acc, err := chooseAccount(unowned)
	if err != nil {
		t.Fatal(err)
	}
	if err := acc.give(data); err != nil {
		t.Fatal(err)
	}
	_, err = Start(t.Context(), Config{Dir: dir, Download: true}) // nothing of version 12 is pinned
	if !errors.Is(err, ErrVersion) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{dir, "made by PostgreSQL 12", "version 1", "another, empty data directory"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}

func TestParseVersion(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		version string
		major   int
	}{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": {"15.18", 15},
		"postgres (PostgreSQL) 17.10\n":                          {"17.10", 17},
		"postgres (PostgreSQL) 18beta1":                          {"18beta1", 18},
		"postgres (PostgreSQL) 9.6.24":                           {"9.6.24", 9},
		"sh: syntax error":                                       {},
		"":                                                       {},
		"postgres (PostgreSQL) 99999999999999999999":             {"99999999999999999999", 9999},
	}
	for out, want := range tests {
		version, major, err := parseVersion(out)
		if version != want.version || major != want.major || (err == nil) != (want.version != "") {
			t.Errorf("%q: %q, %d, %v", out, version, major, err)
		}
	}
}

func TestFolderVersion(t *testing.T) {
	t.Parallel()
	tests := map[string]int{
		"/usr/lib/postgresql/15/bin":                          15,
		"/usr/lib/postgresql/9.6/bin":                         9,
		"/usr/pgsql-17/bin":                                   17,
		"/usr/lib64/postgresql-16/bin":                        16,
		"/usr/libexec/postgresql17":                           17,
		"/opt/homebrew/opt/postgresql@17/bin":                 17,
		"/opt/homebrew/opt/postgresql/bin":                    0,
		"/Applications/Postgres.app/Contents/Versions/18/bin": 18,
	}
	for dir, want := range tests {
		if got := folderVersion(dir); got != want {
			t.Errorf("%s: %d, want %d", dir, got, want)
		}
	}
}

func FuzzParsePIDFile(f *testing.F) {
	f.Add([]byte("42\n/d\n1\n5432\n/s\n\n1 2\nready   \n"))
	f.Add([]byte("-1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := parsePIDFile(b); ok != (p.pid > 0) {
			t.Errorf("%q: %+v, %v", b, p, ok)
		}
	})
}

func FuzzReadNote(f *testing.F) {
	f.Add("owner 1\npostgres 2\nsockets /tmp/x\n")
	f.Fuzz(func(t *testing.T, text string) {
		n := readNote(strings.NewReader(text))
		if strings.Contains(n.sockets, "\n") {
			t.Errorf("%q: %+v", text, n)
		}
	})
}
