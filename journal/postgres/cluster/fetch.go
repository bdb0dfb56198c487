package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// fetcher brings one build into the cache. Under root the cache is root's, so
// that the account which runs the programs cannot change them.
type fetcher struct {
	registry string
	cache    string
	build    build
	client   *http.Client
	log      *slog.Logger
}

func newFetcher(cfg Config, b build) *fetcher {
	cache := cfg.CacheDir
	if cache == "" {
		cache = defaultCache()
	}
	return &fetcher{registry: strings.TrimRight(registryAddress(), "/"), cache: cache, build: b, client: &http.Client{Timeout: 10 * time.Minute}, log: cfg.logger()}
}

// registryAddress is where npm packages come from: as named for us, as named
// for npm, or as npm itself is configured. No address is built in: an
// installation that pins its registry keeps doing so. "" means that none is
// known. The packages hold PostgreSQL's own binaries as the zonky
// embedded-postgres-binaries project builds them
// (https://github.com/leinelissen/embedded-postgres).
func registryAddress() string {
	for _, name := range []string{RegistryEnv, "npm_config_registry", "NPM_CONFIG_REGISTRY"} {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "npm", "config", "get", "registry").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func defaultCache() string {
	if os.Geteuid() == 0 {
		return "/var/cache/landed"
	}
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "landed")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("landed-cache-%d", os.Geteuid()))
}

// fetch returns the folder of the programs, downloading it the first time. The
// archive is checked before any of it is unpacked, and the result appears under
// its final name only when it is complete.
func (f *fetcher) fetch(ctx context.Context) (string, error) {
	if f.registry == "" {
		return "", fmt.Errorf("no npm registry is known that serves the packages: set %s to its address, or install npm", RegistryEnv)
	}
	if err := f.openCache(); err != nil {
		return "", err
	}
	target := filepath.Join(f.cache, "postgres-"+f.build.version+"-"+f.build.sum[:16])
	bin := filepath.Join(target, "bin")
	if _, err := os.Lstat(target); err == nil {
		return bin, trusted(target, bin, filepath.Join(bin, "postgres"), filepath.Join(bin, "initdb"))
	}
	work, err := os.MkdirTemp(f.cache, "new-")
	if err != nil {
		return "", fmt.Errorf("making a folder in the cache: %w", err)
	}
	defer os.RemoveAll(work)
	archive := filepath.Join(work, "archive.tgz")
	if err := f.download(ctx, archive); err != nil {
		return "", err
	}
	tree := filepath.Join(work, "tree")
	if err := unpack(archive, tree); err != nil {
		return "", fmt.Errorf("unpacking PostgreSQL %s: %w", f.build.version, err)
	}
	if err := os.Rename(tree, target); err != nil {
		if _, there := os.Stat(bin); there != nil {
			return "", fmt.Errorf("moving PostgreSQL into the cache: %w", err)
		}
	}
	return bin, trusted(target, bin, filepath.Join(bin, "postgres"), filepath.Join(bin, "initdb"))
}

// openCache makes the cache, and refuses one that others could write to.
func (f *fetcher) openCache() error {
	if _, err := os.Stat(f.cache); err == nil {
		return trusted(f.cache)
	}
	err := os.MkdirAll(f.cache, 0o755)
	if err == nil {
		err = os.Chmod(f.cache, 0o755) // whatever the umask: the server's account reads it
	}
	if err != nil {
		return fmt.Errorf("making the cache: %w (name another folder for it)", err)
	}
	return trusted(f.cache)
}

// trusted refuses files that someone else owns or could have changed.
func trusted(paths ...string) error {
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil {
			return fmt.Errorf("looking at the cache: %w", err)
		}
		uid, _ := ownerOf(info)
		if uid != os.Geteuid() && uid != 0 {
			return fmt.Errorf("the cached %s belongs to user %s: not used", path, userName(uid))
		}
		if info.Mode().Perm()&0o022 != 0 || info.Mode()&os.ModeSymlink != 0 {
			return fmt.Errorf("the cached %s can be changed by others: not used", path)
		}
	}
	return nil
}

// download writes the archive to name and checks size and sum.
func (f *fetcher) download(ctx context.Context, name string) (err error) {
	url := f.registry + "/" + f.build.path
	f.log.Info("downloading PostgreSQL, once", "version", f.build.version, "bytes", f.build.size, "from", url)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("asking for PostgreSQL: %w", err)
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return fmt.Errorf("downloading PostgreSQL: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("downloading PostgreSQL: %s answered %s", url, resp.Status)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("writing the download: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, hash), io.LimitReader(resp.Body, f.build.size+1))
	if err != nil {
		return fmt.Errorf("downloading PostgreSQL from %s, after %d bytes: %w", url, n, err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); n != f.build.size || got != f.build.sum {
		return fmt.Errorf("%w: %s has SHA-256 %s (%d bytes), want %s (%d bytes)", ErrChecksum, url, got, n, f.build.sum, f.build.size)
	}
	return nil
}
