// Package vet is an analyzer for go vet. It finds, in the code of workers, what makes
// a retry cause an effect again: keys that don't survive the retry, and calls that go
// past the journal. Package worker looks at keys while it runs; this looks at the code
// before it runs, and also at what was never called in a test.
//
// It owns the findings below and the names that it knows them by (names.go, sdk.go).
// It doesn't look at what happens at run time, and it proposes no fixes: where a key
// has to be minted is a decision. Command landedvet runs it:
//
//	go vet -vettool=$(which landedvet) ./...
//	go run github.com/landedhq/landed/cmd/landedvet ./...
//
// # Findings
//
// Each has a flag that turns it off, as in -landed.personal=false.
//
// retried: a key is minted inside of what is retried, by time, random numbers, a
// library of identifiers or a counter of attempts. Retried are loops that go round
// after an error and end without one; functions handed to what calls them again
// (backoff.Retry, retry.Do, failsafe.Run, and what is named so); Temporal's workflows
// and activities, jobs of River, tasks of asynq and machinery, steps and workflows of
// DBOS, handlers of Restate, messages of SQS; the functions of tools, which the
// journal runs once per attempt; and all functions of the package that these call.
// Besides the journal's key this covers a provider's: the Idempotency-Key header and
// fields of that name.
//
//	for attempt := 0; attempt < 3; attempt++ {
//		_, err := w.Do(ctx, worker.Call{Key: uuid.NewString(), …}) // bad: a new key each time
//
//	key := job.Args.Key // good: it came with the job
//	for attempt := 0; attempt < 3; attempt++ {
//		_, err := w.Do(ctx, worker.Call{Key: key, …})
//
// fresh: a key is made of time or random numbers in the function that uses it. A crash
// loses it, and whatever runs the function again makes another. A date is no time:
// it may name a report.
//
//	w.Do(ctx, worker.Call{Key: fmt.Sprint("pay-", time.Now().Unix()), …}) // bad
//
//	w.Do(ctx, worker.Call{Run: worker.Run{RootRun: run.ID}, Step: "pay", Item: order.ID, …}) // good
//
//	key := uuid.NewString() // good: kept before it is used
//	err := db.SaveKey(ctx, order.ID, key)
//	w.Do(ctx, worker.Call{Key: key, …})
//
// args: a key is derived from the arguments of its call. A model that is asked again
// words them differently.
//
//	sum := sha256.Sum256(args)
//	w.Do(ctx, worker.Call{Key: hex.EncodeToString(sum[:]), Args: args, …}) // bad
//
//	w.Do(ctx, worker.Call{Run: run, Step: "refund", Item: in.OrderID, Args: args, …}) // good
//
// callid: a key holds a framework's tool call id, which is new on every attempt.
//
//	w.Do(ctx, worker.Call{Key: toolCall.ID, …}) // bad
//
//	w.Do(ctx, worker.Call{Run: run, Step: "refund", Item: in.OrderID, …}) // good
//
// personal: a key holds a mail address or telephone number. Keys are logged and shown.
//
//	w.Do(ctx, worker.Call{Key: "welcome/" + user.Email, …}) // bad
//
//	w.Do(ctx, worker.Call{Key: "welcome/" + user.ID, …}) // good
//
// argkey: the arguments hold an idempotency key, where it protects nothing.
//
//	worker.Call{Args: []byte(`{"amount":5,"idempotency_key":"k-1"}`), …} // bad
//
//	worker.Call{Key: "k-1", Args: []byte(`{"amount":5}`), …} // good
//
// unjournaled: an effect is caused outside of the function of a tool, in a package
// that uses the journal, or in a tool that an MCP server offers to a model: a request
// of net/http that changes something, a mail of net/smtp, a call of a provider's
// library.
//
//	func (s *shop) Refund(ctx context.Context, order string) error {
//		_, err := refund.New(params) // bad: nobody knows of it after a crash
//
//	func (s *shop) refund(ctx context.Context, call worker.Call) (worker.Outcome, error) {
//		r, err := refund.New(params) // good: the function of a tool, called by Do
//
// repeated: the function of a tool sends again on its own, so that the journal sees
// one attempt where there were several.
//
//	err := backoff.Retry(func() error { _, err := http.Post(…); return err }, b) // bad
//
//	_, err := http.Post(…) // good: once; Do tries again where that is safe
//
// # Directives
//
// A comment on the line above, on the line itself or in the comment of the whole
// function silences a finding. It must say why; one that silences nothing is reported.
//
//	//landed:unjournaled a metric that may be lost and doubled
//	//landed:key each start of the canary is a run of its own
//
// # How far it sees
//
// An expression is followed through local variables, fields, conversions, formatting,
// encoding and hashing, and through functions of the same package. Of functions in
// other packages it knows, as facts of package analysis, whether they make something
// new, which of their parameters become keys or are called again, and, inside of one
// module, whether they mint a provider's key or cause an effect. What it can't follow
// (a database, an interface, a channel) counts as coming from outside and is no
// finding; so does what is handed to a function that is named after keeping things
// (Save, Insert, Put, …) before the key is used.
//
// In tests only retried is reported: go test is the outside of every retry, so what a
// test mints for itself is right, and its providers are fakes. Generated files are
// left out.
//
// # Limits
//
// It knows the order of statements only by their place in the file. A key that is
// kept is not followed to where it is read again. A function that another package
// hands to a runtime is judged where it is handed over, and only if it mints a
// provider's key; its own keys are then reported as fresh. Tools whose function is
// built by reflection or kept in a map are seen as ordinary functions.
package vet
