// Package bench measures the product, and wears it out, on a private Postgres of
// its own. From the repository's root:
//
//	go run ./cmd/landed bench journal                                  # begin and commit beside the same statements by hand
//	go run ./cmd/landed bench list                                     # every read, in a journal of ten million effects
//	go run ./cmd/landed bench soak --effects 1000000 --faults 10500    # what is lost or doubled under faults: nothing
//	go run ./cmd/landed bench proxy                                    # a service bare and behind the proxy, and a storm of retries
//
// A short form of each is a test of this package.
//
// The soak runs workers against a provider in memory that counts what happened,
// through a proxy that cuts connections at any message of the protocol. It loses
// requests and answers of the journal and of the provider, kills and pauses
// workers, ends sessions and kills the database server; a sweeper, a collector
// and an operator settle what gets stuck. In the end, what every worker was told
// and what the provider did is compared with what the journal holds. Its exit
// status is 1 if anything acknowledged was lost, anything happened twice without
// an order, or anything was closed against the truth or never settled.
//
// The proxy's clients send requests under keys of their own to a service that
// counts, by turns straight and through the guarding proxy on the same machine.
// What is added is the journal's two durable writes, which take turns with them by
// themselves, the guard, and one more hop with a connection of its own. Then a thousand clients retry fifty keys
// at once: exit status 1 unless the service did fifty things and every client
// ended with its key's one answer.
package bench
