// Package guide says, provider by provider, what a worker must set so that what
// it did can be found later, and renders it: for people, and as code that runs.
//
// It owns the guide of a provider (Guide), the example requests that the code is
// made of, and the three renderings of them: Go with package journal/worker,
// Python and Java with the clients below journal/client/examples. What has to be
// set is not known here: it is the adapter's or the definition's own instruction
// (evidence.Instructor), so a guide can't promise another field than the look-up
// asks for. This package's tests run every example against a recording server and
// look for each value where the instruction says it is.
//
// README.md in this folder is the rendered index, pages holds a page per provider.
// Both are tested to be current.
//
// # Names of fields
//
// An instruction names a place in a request for people, and this package reads the
// same name. It is a header's name, a form parameter, or a path of JSON members,
// "ticket.external_id". "tags[]" is an element of a list, "units[0]" its first one,
// "personalizations[].custom_args.x" a member of each. After it there may be a
// remark:
//
//	custom_fields[] (an object with id 9)          the element is {"id": 9, "value": …}
//	properties[].value.ref (in an object with key landed)
//	                                               the element is {"key": "landed", "value": {"ref": …}}
//	tags[] (the only one)                          said to people
//	reply_to[] (only with carrier reply_to)        left out of the code
//	body, on a line of its own at the end          appended to that text
//	Body, at the end after a space                 likewise
package guide
