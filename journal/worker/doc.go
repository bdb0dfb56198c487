// Package worker is what a worker imports: it executes tools under the journal,
// so that a crash, a retry or a model that asks twice does not repeat an effect.
//
// It owns the registry of tools, the loop around begin and commit (Do), the
// heartbeat, the transport that knows how far a request got, the table that
// reads providers' answers (Classifier), and what an agent is told (Answer). It
// keeps no state beyond the process: the journal decides who may execute, how
// often, and what is known.
//
//	r := worker.NewRegistry()
//	err := r.Register(worker.ToolSpec{
//		Tool: journal.Tool{
//			Name: "refund", Class: journal.ClassProviderIdempotent, Provider: "payments",
//			KeyWindow: 24 * time.Hour, ClientTimeout: 30 * time.Second,
//			ArgsSchema: []byte(`{"type":"object","required":["charge","amount"]}`),
//		},
//		KeyHeader: "Idempotency-Key",
//		Tracked:   true,
//		Run: func(ctx context.Context, call worker.Call) (worker.Outcome, error) {
//			client, err := worker.Client(ctx) // fails without a grant; retries of its own are off
//			if err != nil {
//				return worker.Outcome{}, err
//			}
//			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(call.Args))
//			if err != nil {
//				return worker.Outcome{}, worker.NotSent(err)
//			}
//			return worker.Classifier{}.Send(client, req)
//		},
//	})
//	err = r.Sync(ctx, store)
//	w := worker.New(store, r, worker.Options{})
//	answer, err := w.Do(ctx, worker.Call{ // for the model: json.Marshal(answer)
//		Run: worker.Run{RootRun: run.ID, RootRunStartedAt: run.Started}, Tool: "refund",
//		Step: "refund-late-parcel", Item: order.ID, Args: args,
//	})
//
// One attempt goes through these phases; what proves each is the transport's
// record, Sending, or the tool's own word, and the record outweighs the word:
//
//	granted ──first byte──► sent (outcome unknown) ──► refused │ confirmed
//	   └── no byte was written, and that is proved: not_sent
//
// # Handles first
//
// Where a provider takes two steps (a draft that is sent, a payment intent that is
// confirmed), package staged below this one journals the id of the first before the
// second (Grant.RecordHandle). Evidence is then a read by that id and not a search,
// and a later attempt finishes what an earlier one left. It has Gmail, Microsoft
// Graph, JMAP and Stripe, and takes other providers as three functions.
//
// # Undoing a run
//
// A tool may name the tool that undoes it (Tool.CompensatedBy). Once a run does
// nothing more, because it failed or because a resolution carries Compensate,
// Compensate undoes what the run completed, the last effect first:
//
//	done, err := w.Compensate(ctx, worker.Run{RootRun: run.ID, RootRunStartedAt: run.Started}, worker.Undo{
//		Run: func(ctx context.Context, g *worker.Grant, d worker.Done) (worker.Outcome, error) {
//			out, err := cancel(ctx, d.ProviderID, g.ProviderKey())
//			if errors.Is(err, errGone) { // somebody took it back before: undone
//				return worker.Outcome{ProviderID: d.ProviderID, Replayed: true}, nil
//			}
//			return out, err
//		},
//	})
//	for _, u := range done.Open() { // a person decides these, or they are tried again
//		log.Warn("not undone", "effect", u.Effect.EffectID, "status", u.Answer.Status, "reason", u.Answer.Reason)
//	}
//
// Each undo is an effect of the compensating tool, under the key
// "<root run>/undo/<effect id>": a worker that is killed half-way and starts over
// undoes the rest and nothing twice. One that is refused or whose outcome is
// unknown is parked for an operator and does not stop the others; after the
// decision call Compensate again. An undo that was closed as not landed stays so:
// what it was to undo is then a person's to undo outside of the journal.
//
// # Limits
//
// A process that is paused between the last check and the write can still send
// late; only a provider that honours keys prevents that. Do waits until the
// tool's function returns: it ends its context, but can't end its goroutine.
//
// Network access of a tool's own goes past the record. Without any record or
// word of the tool an error counts as "may have happened"; but a tool that sends
// in two ways must announce both, by the transport or by Sending, as the record
// of one alone would prove too much.
package worker
