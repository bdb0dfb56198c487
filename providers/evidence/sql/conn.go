package sql

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/landedhq/landed/providers/evidence"
)

// connect opens one connection under the adapter's policy. No error holds the
// password: what parsing says is left out.
func connect(ctx context.Context, dsn string, c Config) (*pgconn.PgConn, error) {
	if err := checkComplete(dsn); err != nil {
		return nil, fmt.Errorf("sql: %w", err)
	}
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("sql: the connection string can't be read, or names a file that can't")
	}
	if err := checkTLS(cfg, c.AllowUnverified); err != nil {
		return nil, fmt.Errorf("sql: %w", err)
	}
	if cfg.ConnectTimeout == 0 || cfg.ConnectTimeout > c.Timeout {
		cfg.ConnectTimeout = c.Timeout
	}
	if severalHosts(cfg) && cfg.ValidateConnect == nil {
		// Of several servers the primary is wanted; of one, a look says that it is none.
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "landed"
	}
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, asFault(err)
	}
	return conn, nil
}

// checkComplete wants host, user and database in the connection string itself: a
// variable of the environment must not decide which database is asked.
func checkComplete(dsn string) error {
	missing := func(has func(string) bool) error {
		for _, key := range []string{"host", "user", "dbname"} {
			if !has(key) {
				return fmt.Errorf("the connection string does not name its %s", key)
			}
		}
		return nil
	}
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return missing(regexpKey(dsn))
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return errors.New("the connection string is no URL")
	}
	return missing(func(key string) bool {
		switch {
		case u.Query().Get(key) != "":
			return true
		case key == "host":
			return u.Host != ""
		case key == "user":
			return u.User.Username() != ""
		}
		return strings.Trim(u.Path, "/") != ""
	})
}

func regexpKey(dsn string) func(string) bool {
	return func(key string) bool {
		return regexp.MustCompile(`(^|\s)` + key + `\s*=\s*[^\s=]`).MatchString(dsn)
	}
}

// checkTLS refuses ways to connect on which somebody else could answer. pgconn
// lists one per host and TLS mode: "prefer" also holds one in the clear.
func checkTLS(cfg *pgconn.Config, allow bool) error {
	if allow {
		return nil
	}
	ways := append([]*pgconn.FallbackConfig{{Host: cfg.Host, TLSConfig: cfg.TLSConfig}}, cfg.Fallbacks...)
	for _, w := range ways {
		if !isLocal(w.Host) && !verified(w.TLSConfig) {
			return errors.New("the connection to " + w.Host + " would not be verified: use sslmode=verify-full (and sslrootcert), or set allow_unverified if the network can be trusted")
		}
	}
	return nil
}

func verified(c *tls.Config) bool {
	return c != nil && (!c.InsecureSkipVerify || c.VerifyPeerCertificate != nil || c.VerifyConnection != nil)
}

// isLocal: a folder of Unix sockets, or loopback.
func isLocal(host string) bool {
	if strings.HasPrefix(host, "/") || host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func severalHosts(cfg *pgconn.Config) bool {
	for _, f := range cfg.Fallbacks {
		if f.Host != cfg.Host || f.Port != cfg.Port {
			return true
		}
	}
	return false
}

// asFault says what an error of the server or of the connection means.
func asFault(err error) error {
	pe := &evidence.ProviderError{Kind: evidence.FaultUnavailable, Detail: "PostgreSQL did not answer", Err: err}
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg):
		pe.Kind, pe.Detail = kindOf(pg.Code), detailOf(pg)
	case errors.Is(err, context.DeadlineExceeded):
		pe.Detail = "PostgreSQL did not answer in time"
	case errors.Is(err, context.Canceled):
		pe.Detail = "the look was cancelled"
	}
	return pe
}

// kindOf sorts an SQLSTATE (PostgreSQL's documentation, appendix A).
func kindOf(code string) evidence.FaultKind {
	class := code
	if len(code) == 5 {
		class = code[:2]
	}
	switch {
	case class == "28":
		return evidence.FaultAuth
	case code == "42501":
		return evidence.FaultForbidden
	case class == "42" || class == "22" || class == "0A" || class == "3D" || code == "25006":
		return evidence.FaultRefused
	}
	return evidence.FaultUnavailable // 08, 40, 53, 55, 57, 58, XX: later it may do
}

func detailOf(pg *pgconn.PgError) string {
	text := fmt.Sprintf("%.200s (%.5s)", strings.ToValidUTF8(pg.Message, "?"), pg.Code)
	switch {
	case pg.Code == "42501" && strings.Contains(pg.Message, "row-level security"):
		return "a row-level security policy would hide rows from the role, so an empty answer would prove nothing: give the role BYPASSRLS: " + text
	case pg.Code == "42501":
		return "the role lacks a right: " + text
	case pg.Code == "57014":
		return "the statement took longer than allowed: is the reference column indexed? " + text
	case pg.Code == "55P03":
		return "the table is locked: " + text
	case pg.Code == "25006":
		return "the statement would write: " + text
	case strings.HasPrefix(pg.Code, "28"):
		return "PostgreSQL refuses the role or its password: " + text
	case strings.HasPrefix(pg.Code, "53"):
		return "PostgreSQL has no room for another connection: " + text
	case kindOf(pg.Code) == evidence.FaultRefused:
		return "PostgreSQL refuses the statement: " + text
	}
	return "PostgreSQL can't answer now: " + text
}
