// Package bench measures the product on a private Postgres of its own.
package bench
