package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migrate brings the schema up to date. Concurrent callers wait for each other
// on a database lock; a second run does nothing.
func Migrate(ctx context.Context, dsn string) error {
	p, closeDB, err := provider(dsn)
	if err != nil {
		return err
	}
	defer closeDB()
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrating the journal: %w", err)
	}
	return nil
}

// MigrateDown takes the whole schema away: for tests of the migrations.
func MigrateDown(ctx context.Context, dsn string) error {
	p, closeDB, err := provider(dsn)
	if err != nil {
		return err
	}
	defer closeDB()
	if _, err := p.DownTo(ctx, 0); err != nil {
		return fmt.Errorf("taking the journal's schema away: %w", err)
	}
	return nil
}

func provider(dsn string) (*goose.Provider, func(), error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the database address: %w", err)
	}
	db := stdlib.OpenDB(*cfg)
	closeDB := func() { _ = db.Close() }
	sub, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		closeDB()
		return nil, nil, fmt.Errorf("reading the migrations: %w", err)
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		closeDB()
		return nil, nil, fmt.Errorf("preparing the migration lock: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, sub, goose.WithSessionLocker(locker))
	if err != nil {
		closeDB()
		return nil, nil, fmt.Errorf("reading the migrations: %w", err)
	}
	return p, closeDB, nil
}
