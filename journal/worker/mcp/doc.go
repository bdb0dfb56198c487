// Package landedmcp puts the effect journal before the side-effecting tools of
// an MCP server, without changing the tools. It is a module of its own, so that
// the MCP SDK is nobody's dependency who does not use it.
//
// It owns the middleware that turns one tools/call into begin, run and commit
// (package worker does these), the rule that finds the key, what an agent is
// told, and the form in which results are recorded. It keeps nothing that the
// journal needs: the process may die at any time.
//
//	server := mcp.NewServer(&mcp.Implementation{Name: "mailer", Version: "v1"}, nil)
//	mcp.AddTool(server, &mcp.Tool{Name: "send_mail"}, sendMail) // as before
//	front, err := landedmcp.Attach(ctx, server, landedmcp.Config{
//		Journal: journal, // a client.Client, or a postgres.Store
//		Tools: []landedmcp.Tool{{Tool: journal.Tool{
//			Name: "send_mail", Class: journal.ClassAtMostOnce, Provider: "mail", ClientTimeout: time.Minute,
//		}}},
//		Desk: "https://landed.example",
//	})
//	defer front.Drain(context.Background())
//	err = server.Run(ctx, &mcp.StdioTransport{})
//
// A server that nobody can recompile gets a Front by Proxy, or by the command
// landed-mcp below this package.
//
// It works over every transport of the SDK. Tools annotated with readOnlyHint
// pass untouched. Attach refuses a server that has a tool which is neither
// annotated nor declared, as nobody knows whether it may be called twice.
//
// # The key
//
// What tells one effect from another has to come from who runs the workflow. It
// travels in params._meta of tools/call:
//
//	"landed/root_run": "run-2026-01-31-17", the run that a person or a schedule started
//	"landed/step":     "confirm-order",     the same on every retry, replay and resume
//	"landed/item":     "order-17",          if one step acts on several business objects
//
// or "landed/key", a key that the client minted outside of every retry. The
// other names are the Meta constants. A call without is refused, with an answer
// that says what to send.
//
// The key never comes from the arguments: a model that words them differently
// on its next try would get a new key, and do it twice. It never comes from the
// framework's tool call id or from the JSON-RPC request id either. Both are new
// on every try; the protocol even asks for that
// (https://modelcontextprotocol.io/specification/2025-11-25/basic#requests: an
// id must not have been used before), has had no session since revision
// 2026-07-28, and gives a client whose stream broke no way but a new request.
// There is no other field in the protocol that means "this is a retry": a
// proposal for one was closed
// (https://github.com/modelcontextprotocol/modelcontextprotocol/pull/3182).
//
// # Clients that can't be taught
//
// Config.KeyBySession makes keys for clients that send none: a random id of the
// session, the tool's name and a counter, under this rule.
//
//   - Until the client has heard what came of a call, the tool's next call in the
//     session is taken for a repetition: with the same arguments it gets that
//     call's outcome, with others it is refused and told of the earlier call. So
//     neither a repetition nor a reworded one is executed.
//   - Once it has heard, a call with other arguments is another effect, and the
//     very same call is not: it is not executed, and the answer says so and why.
//   - A tool with IdentityFields has this per identity: calls that differ in a
//     field which the operator named are different effects and don't wait for each
//     other.
//
// A second identical effect on purpose is thus impossible without a key, and it
// is said so. What the rule can't protect from: the session ends (the client or
// the server restarts) while an outcome is unknown, and the agent repeats the
// call in a new one; or a client gives a call up without telling the server, and
// the model words the next one differently. Over HTTP without sessions there
// is nothing to go by: such calls are refused.
//
// # What an agent is told
//
// A call that is done brings the tool's result, byte for byte as it was
// recorded, also on every later call under the key. Any other answer is in the
// structured content as {"landed": {"status": …, "note": …}}, and in words as
// text. The output schemas that clients see allow it. Every result carries the
// answer in its metadata, as "landed/answer".
//
//	done         it happened
//	in_progress  it runs, or is to be asked for again at retry_at: with the same call
//	unknown      it may have happened: must not be repeated; a person decides, at link
//	refused      the provider said no and did nothing: plan again
//	replan       the call is wrong, or its key belongs to another one: nothing was done
//	hard_stop    not executed: the budget is spent, the journal can't be reached, no key
//	abandoned    a person closed it as not done
//
// isError is set for the last four only: nothing was done, for certain. It is
// never set for an outcome that is not known, as clients and models answer
// errors by trying again. After a person ordered the effect again the next call
// under the key executes, with the arguments that were recorded first.
//
// # How far a tool got
//
// A result without isError confirms. A result with isError, an error, and a
// panic of a tool that was called leave the outcome unknown, as the tool may
// have done its work before. A tool that knows better says so:
//
//   - in Go, by worker.NotSent(err) or worker.Refused(err, final) as its error, or
//     by sending through worker.Client(ctx), which knows whether a byte was written;
//   - in any language, by "landed/phase": "not_sent" or "refused" in the _meta of
//     its result, with "landed/final": false for a refusal that a retry may cure;
//   - by Tool.Judge, for tools that report failures in a result without isError.
//
// Arguments are checked against the tool's input schema before anything is
// begun, so a model's slip is no unknown outcome.
//
// # Time
//
// A client that gives a call up, or whose connection breaks, does not stop a
// tool that was entered: that would only make its outcome unknown. The tool runs
// until it returns or its ClientTimeout is over, heartbeats keep the lease, the
// outcome is committed, and the next call under the key gets it. A client that
// waits longer than Config.AnswerWithin, or than most of "landed/timeout_ms", is
// told that the call still runs. Call Drain before the process ends.
//
// # Limits
//
// A tool that asks the client for input (elicitation, sampling) waits for a
// person inside its attempt, and ClientTimeout must cover that. In protocol
// revision 2026-07-28 such a tool ends its call and is called again
// (https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr):
// declare it with AsksFirst if it does nothing before it asks; each question
// then counts against the retry budget. Resources and prompts are not journaled.
// A key finds the effects of every client in its namespace: a server with
// several tenants must set Config.Namespace.
package landedmcp
