// Package sqlc holds the queries of journal/postgres/queries as sqlc compiled
// them. It owns nothing: change the .sql files and generate it anew.
package sqlc
