package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// stopPatience is how long a fast shutdown may take; its checkpoint writes at
// most the shared buffers.
const stopPatience = 30 * time.Second

// Config says where a cluster lives and how its server is found.
type Config struct {
	// Dir holds the data (in a folder named data), the server's log and the
	// lock. "" makes a temporary directory that Stop removes. As root, data
	// that the server's account could not reach are kept below /var/lib, and Dir
	// keeps a link to them.
	Dir string
	// BinDir names the folder with postgres and initdb; "" searches, see
	// FindBinaries.
	BinDir string
	// Download allows fetching PostgreSQL when none is installed.
	Download bool
	// CacheDir keeps the download; "" is the user's cache folder, for root
	// /var/cache/landed.
	CacheDir string
	// Settings are server parameters for tests; they win over the built-in ones,
	// except over those that decide who can reach the server.
	Settings map[string]string
	// Logger gets a few lines about starting and stopping; nil discards them.
	Logger *slog.Logger
}

func (c Config) logger() *slog.Logger {
	if c.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Logger
}

// Cluster is a running server.
type Cluster struct {
	place    *place
	lock     *lock
	process  *process
	binaries Binaries
	log      *slog.Logger

	stopping chan struct{}
	stop     sync.Once
	stopErr  error
	lost     chan struct{}
	lostErr  error // read after lost
}

// Start runs a private Postgres and returns when it accepts connections. ctx
// bounds the start and then the server's life: when ctx is done the server is
// stopped. Start returns *InUseError (ErrInUse), ErrNoBinaries, ErrVersion or
// ErrChecksum where they apply; when the server itself fails, the error ends
// with the last lines of its log.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	p, err := newPlace(cfg.Dir)
	if err != nil {
		return nil, err
	}
	held, err := acquire(p.dir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{place: p, lock: held, log: cfg.logger(), stopping: make(chan struct{}), lost: make(chan struct{})}
	if err := c.start(ctx, cfg); err != nil {
		return nil, errors.Join(err, p.remove(), held.release())
	}
	go c.watch()
	go c.obey(ctx)
	return c, nil
}

func (c *Cluster) start(ctx context.Context, cfg Config) error {
	p, last := c.place, c.lock.last
	owner, major, err := p.existing()
	if err != nil {
		return err
	}
	acc, err := chooseAccount(owner)
	if err != nil {
		return err
	}
	if err := clearHolder(ctx, p.dir, p.data(), last.postgres); err != nil {
		return err
	}
	if last.sockets != "" {
		_ = os.RemoveAll(last.sockets) // of an owner that was killed
	}
	cfg.Dir = p.dir
	if c.binaries, err = newFinder(cfg, acc, major).find(ctx); err != nil {
		return err
	}
	if err := p.settle(acc, major != 0, c.log); err != nil {
		return err
	}
	if major == 0 {
		if err := initialise(ctx, p, c.binaries, acc); err != nil {
			return err
		}
	}
	if err := placeSockets(p, acc); err != nil {
		return err
	}
	if err := writeAccess(p, acc); err != nil {
		return err
	}
	return c.boot(ctx, acc, cfg.Settings)
}

// boot starts the server, again for a short while when what is left of a killed
// one still holds its memory: its children need a moment to notice.
func (c *Cluster) boot(ctx context.Context, acc account, extra map[string]string) error {
	began := time.Now()
	for {
		err := c.try(ctx, acc, extra)
		if err == nil {
			break
		}
		if !strings.Contains(err.Error(), "pre-existing shared memory block") || time.Since(began) > 5*time.Second {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
	c.log.Info("private Postgres is running", "version", c.binaries.Version, "data", c.place.data(),
		"account", acc.name, "pid", c.process.pid(), "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// try starts the server once. Its number is noted before it is ready: if we are
// killed from here on, the next owner knows what we left.
func (c *Cluster) try(ctx context.Context, acc account, extra map[string]string) error {
	if err := c.note(0); err != nil {
		return err
	}
	from, err := logSize(c.place.log())
	if err != nil {
		return err
	}
	if c.process, err = startServer(c.place, c.binaries, acc, extra); err != nil {
		return err
	}
	if err := c.note(c.process.pid()); err != nil {
		return errors.Join(err, c.process.stop(stopPatience))
	}
	if err := c.process.ready(ctx, c.place.data()); err != nil {
		_ = c.process.stop(stopPatience)
		return fmt.Errorf("starting PostgreSQL %s: %w; the end of %s:\n%s", c.binaries.Version, err, c.place.log(), logTail(c.place.log(), from))
	}
	return nil
}

// note tells others who holds the directory.
func (c *Cluster) note(postgres int) error {
	n := lockNote{owner: os.Getpid(), postgres: postgres}
	if c.place.outside {
		n.sockets = c.place.sockets
	}
	return c.lock.write(n)
}

// obey stops the server when ctx is done.
func (c *Cluster) obey(ctx context.Context) {
	select {
	case <-ctx.Done():
		_ = c.Stop() // logged there
	case <-c.stopping:
	}
}

// watch closes Done when the server ends without being asked to.
func (c *Cluster) watch() {
	<-c.process.ended
	select {
	case <-c.stopping:
		return
	default:
	}
	c.lostErr = fmt.Errorf("the private Postgres ended unexpectedly (%w); the end of %s:\n%s", c.process.err, c.place.log(), logTail(c.place.log(), 0))
	c.log.Error("private Postgres ended unexpectedly", "pid", c.process.pid(), "log", c.place.log())
	close(c.lost)
}

// DSN returns the connection string of a database, for pgx, libpq and psql. Host,
// port, user and TLS mode are given, so PGHOST and the like change nothing.
func (c *Cluster) DSN(database string) string {
	query := url.Values{"host": {c.place.sockets}, "port": {strconv.Itoa(port)}, "sslmode": {"disable"}}
	// Connection strings know %20 only; to them a plus sign is a plus sign.
	raw := strings.ReplaceAll(query.Encode(), "+", "%20")
	u := url.URL{Scheme: "postgres", User: url.User(Superuser), Path: "/" + database, RawQuery: raw}
	return u.String()
}

// Dir is the directory that really holds the data folder and the server's log;
// see Config.Dir for when it is not the one asked for.
func (c *Cluster) Dir() string { return c.place.home }

// Binaries are what the server was started with.
func (c *Cluster) Binaries() Binaries { return c.binaries }

// PID is the postmaster's process id.
func (c *Cluster) PID() int { return c.process.pid() }

// Done closes when the server ends without Stop and without its context being
// done. Err then says why. Stop must still be called.
func (c *Cluster) Done() <-chan struct{} { return c.lost }

// Err says how the server ended, with the last lines of its log; nil unless
// Done is closed.
func (c *Cluster) Err() error {
	select {
	case <-c.lost:
		return c.lostErr
	default:
		return nil
	}
}

// Stop ends the server by a fast shutdown: open transactions are rolled back,
// everything acknowledged is on disk. It removes a temporary directory. Calling
// it again waits for the first call and returns the same error.
func (c *Cluster) Stop() error {
	c.stop.Do(func() {
		close(c.stopping)
		err := c.process.stop(stopPatience)
		if note := c.lock.write(lockNote{}); note != nil {
			err = errors.Join(err, note)
		}
		c.stopErr = errors.Join(err, c.place.remove(), c.lock.release())
		c.log.Info("private Postgres is stopped", "data", c.place.data(), "err", c.stopErr)
	})
	return c.stopErr
}
