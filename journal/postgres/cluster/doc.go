// Package cluster runs a private Postgres server: the embedded default of the
// demo, and the real database of the tests. It owns the server's binaries
// (finding or downloading them), its files, its process and its socket. It does
// not own databases inside the server, migrations, or any production server.
//
// A cluster moves through these states and never back:
//
//	preparing ──initdb──► starting ──ready──► running ──Stop, ctx──► stopped
//	    │                    │                   └──process ended──► lost (Done)
//	    └────── error ───────┴──► stopped
//
// The server listens on a Unix socket only, and lets in only root, the user who
// started it and the account it runs under (peer authentication with an ident
// map). It never runs as root. On Linux it ends with the process that started
// it, also when that process is killed; elsewhere the next Start on the same
// directory stops what was left over.
//
// What is acknowledged is on disk: fsync, synchronous_commit and
// full_page_writes stay on unless a test turns them off by Config.Settings.
package cluster
