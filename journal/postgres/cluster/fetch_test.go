package cluster

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// archive packs files as the published packages do.
func archive(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	w := tar.NewWriter(zip)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func goodFiles() map[string]string {
	return map[string]string{
		"package/package.json":              `{"scripts":{"postinstall":"never run"}}`,
		"package/native/bin/postgres":       "#!/bin/sh\necho 'postgres (PostgreSQL) 17.10'\n",
		"package/native/bin/initdb":         "#!/bin/sh\nexit 1\n",
		"package/native/lib/libpq.so.5.17":  "library",
		"package/native/share/postgres.bki": "share",
		"package/native/pg-symlinks.json":   `[{"source":"native/lib/libpq.so.5.17","target":"native/lib/libpq.so.5"}]`,
	}
}

// registry serves body at the build's path and counts what is asked.
func registry(t testing.TB, pin build, body []byte) (string, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/mirror/"+pin.path {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mirror", &asked
}

func pinOf(body []byte) build {
	sum := sha256.Sum256(body)
	return build{version: "17.10", path: "@embedded-postgres/some/-/some.tgz", sum: hex.EncodeToString(sum[:]), size: int64(len(body))}
}

func testFetcher(t testing.TB, url string, pin build) *fetcher {
	t.Helper()
	return &fetcher{registry: url, cache: filepath.Join(publicDir(t), "cache"), build: pin, client: http.DefaultClient, log: slog.New(slog.DiscardHandler)}
}

func TestFetch_OnceAndWhole(t *testing.T) {
	t.Parallel()
	body := archive(t, goodFiles())
	url, asked := registry(t, pinOf(body), body)
	f := testFetcher(t, url, pinOf(body))
	var bin string
	for range 2 {
		var err error
		if bin, err = f.fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
	if b, err := os.ReadFile(filepath.Join(bin, "../lib/libpq.so.5")); err != nil || string(b) != "library" {
		t.Errorf("the link: %q, %v", b, err)
	}
	left, _ := filepath.Glob(f.cache + "/*")
	if diff := cmp.Diff([]string{filepath.Dir(bin)}, left); diff != "" {
		t.Errorf("in the cache (-want +got):\n%s", diff)
	}
	// And the finder runs it as the server's account.
	acc, err := chooseAccount(unowned)
	if err != nil {
		t.Fatal(err)
	}
	search := &finder{account: acc, fetch: f.fetch, build: f.build}
	if got, err := search.find(t.Context()); err != nil || got.Version != "17.10" {
		t.Errorf("found %+v, %v", got, err)
	}
}

func TestFetch_TwoAtOnce(t *testing.T) {
	t.Parallel()
	body := archive(t, goodFiles())
	url, _ := registry(t, pinOf(body), body)
	f := testFetcher(t, url, pinOf(body))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := f.fetch(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestFetch_RefusesWhatIsNotPinned(t *testing.T) {
	t.Parallel()
	good := archive(t, goodFiles())
	changed := bytes.Clone(good)
	changed[len(changed)/2] ^= 1
	tests := map[string]struct {
		body []byte
		want error
	}{
		"one bit differs": {changed, ErrChecksum},
		"cut short":       {good[:len(good)-1], ErrChecksum},
		"longer":          {append(bytes.Clone(good), 0), ErrChecksum},
		"an error page":   {[]byte("<html>"), ErrChecksum},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := registry(t, pinOf(good), test.body)
			f := testFetcher(t, url, pinOf(good))
			if _, err := f.fetch(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("got %v", err)
			}
			if left, _ := filepath.Glob(f.cache + "/*"); len(left) != 0 {
				t.Errorf("left in the cache: %v", left)
			}
		})
	}
}

func TestFetch_SaysWhatTheServerAnswered(t *testing.T) {
	t.Parallel()
	body := archive(t, goodFiles())
	url, _ := registry(t, pinOf(body), body)
	pin := pinOf(body)
	pin.path = "elsewhere.tgz"
	f := testFetcher(t, url, pin)
	if _, err := f.fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v", err)
	}
}

func TestFetch_HostileArchivesStayInside(t *testing.T) {
	t.Parallel()
	tests := map[string]map[string]string{
		"a name that climbs out":   {"package/native/../../../evil": "x"},
		"an absolute name":         {"package/native//../../evil": "x"},
		"a link that climbs out":   {"package/native/pg-symlinks.json": `[{"source":"native/../../evil","target":"native/lib"}]`},
		"a link into another tree": {"package/native/bin/initdb": "x", "package/native/pg-symlinks.json": `[{"source":"native/lib/a","target":"native/bin/postgres"}]`},
	}
	for name, files := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := archive(t, files)
			url, _ := registry(t, pinOf(body), body)
			f := testFetcher(t, url, pinOf(body))
			if _, err := f.fetch(t.Context()); err == nil {
				t.Error("accepted")
			}
			if found, _ := filepath.Glob(filepath.Dir(f.cache) + "/evil"); len(found) != 0 {
				t.Errorf("written outside: %v", found)
			}
			if left, _ := filepath.Glob(f.cache + "/*"); len(left) != 0 {
				t.Errorf("left in the cache: %v", left)
			}
		})
	}
}

func TestFetch_CacheThatOthersCanChangeIsNotUsed(t *testing.T) {
	t.Parallel()
	body := archive(t, goodFiles())
	url, _ := registry(t, pinOf(body), body)
	f := testFetcher(t, url, pinOf(body))
	bin, err := f.fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{f.cache, bin, filepath.Join(bin, "postgres")} {
		if err := os.Chmod(name, 0o777); err != nil {
			t.Fatal(err)
		}
		if _, err := f.fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "not used") {
			t.Errorf("%s writable by all: %v", name, err)
		}
		if err := os.Chmod(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPinned(t *testing.T) {
	t.Parallel()
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"} {
		goos, goarch, _ := strings.Cut(platform, "/")
		b, ok := pinned(goos, goarch)
		if raw, err := hex.DecodeString(b.sum); !ok || err != nil || len(raw) != sha256.Size || b.size == 0 || b.major() != pinnedMajor {
			t.Errorf("%s: %+v", platform, b)
		}
	}
	if b, ok := pinned("plan9", "mips"); ok || b.sum != "" {
		t.Errorf("plan9: %+v", b)
	}
}

// Not parallel: the umask is the process's.
func TestFetch_OpenToTheAccountWhateverTheUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	body := archive(t, goodFiles())
	url, _ := registry(t, pinOf(body), body)
	f := testFetcher(t, url, pinOf(body))
	bin, err := f.fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]os.FileMode{f.cache: 0o755, bin: 0o755, bin + "/postgres": 0o755, bin + "/../share": 0o755, bin + "/../share/postgres.bki": 0o644}
	for name, mode := range want {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}
