// Package wire owns the JSON forms of the worker API: how the requests and
// answers of package journal are written and read, on both ends of the line.
// It speaks no HTTP: handlers/api serves these forms, journal/client calls
// with them.
//
// # Bytes
//
// Args and results travel byte for byte. A text that is one JSON value in valid
// UTF-8, with no white space around it, is embedded as it is: white space
// inside it, member order, escapes and digits stay. Anything else (no JSON,
// invalid UTF-8, white space around the value, the four bytes null, nothing at
// all) travels in standard base64 under the same name with _base64 appended.
// null means "none".
//
// # Strictness
//
// Requests are read strictly: names are case-sensitive, unknown and repeated
// members are refused, and before an effect so is text that no decoder keeps
// (invalid UTF-8, lone surrogates). Reports of what has happened are never
// refused over their content. Answers are read leniently, so that an older
// client understands a newer server.
//
// # Durations
//
// lease, client_timeout, key_window and retry_after in requests are whole
// milliseconds or Go duration strings ("90s"); everything called *_ms is whole
// milliseconds, and what remains is rounded down, what must be waited up.
package wire
