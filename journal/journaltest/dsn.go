package journaltest

import (
	"fmt"
	"net/url"
	"strings"
)

// databaseDSN returns dsn, in either form that pgx reads, for another database
// of the same server.
func databaseDSN(dsn, database string) (string, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " dbname=" + database, nil // of two, the last one counts
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("not a connection string: %w", err)
	}
	if q := u.Query(); q.Has("dbname") || q.Has("database") {
		return "", fmt.Errorf("name the database in the path of the connection string, not as a parameter")
	}
	u.Path, u.RawPath = "/"+database, ""
	return u.String(), nil
}
