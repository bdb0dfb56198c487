// Package temporal hands resolutions to workflows of Temporal, over the HTTP API
// of its server: no SDK and no gRPC.
//
// It owns the address of a workflow, the shape of the two calls, and what the
// server's answers mean. It does not own what the workflow does with a resolution:
// package journal/worker/temporal (a module of its own) is that other half for
// workers in Go, and any workflow that handles the signal or the update will do.
//
// # Addresses
//
// begin's resume names the workflow:
//
//	{"to": "temporal", "workflow_id": "order-17"}
//	{"to": "temporal", "workflow_id": "order-17", "signal": "landed"}
//	{"to": "temporal", "workflow_id": "order-17", "update": "landed"}
//
// Without run_id the workflow's current run gets it, also after a reset and after
// continue-as-new, and that is what parked work wants. With run_id only that run
// does: once it has ended the answer is "gone", whatever came after it.
//
// The HTTP API can't address an id with a slash: such a workflow has to pull.
//
// # Signal or update
//
// A signal (the default, named "landed") is written into the workflow's history
// and waits there until code looks at it, also while no worker runs. The answer
// says no more than that.
//
// An update is answered by the workflow's own code, so a worker must be running;
// until one is, it is tried again. A handler that returns an object with
// "resumed": true says that the work goes on, and closes the delivery; accepting
// the update alone does not, as a handler can be accepted and nobody wait.
//
// # What is ignored by itself
//
// The resolution's id is the signal's request id, or the update's id. A server
// ignores one that it has seen in the same run. A run made by a reset does not
// know which request ids its predecessor saw (the signals themselves are carried
// over), and neither does one made by continue-as-new: a message sent twice around
// that moment arrives twice, with the same resolution_id in its data.
//
// Sources: temporal/api/workflowservice/v1/service.proto (paths) and
// request_response.proto (bodies) of github.com/temporalio/api; what a server
// answers is in service/frontend/http_api_server.go, service/history/consts,
// service/history/api/{signalworkflow,updateworkflow} of github.com/temporalio/temporal,
// and was seen on the development server of its command line, version 1.5.1.
package temporal
