package evidence

// Instructor is an adapter that says what a worker must put into its request so
// that this adapter, as it is configured, can find the effect again.
type Instructor interface {
	// Instruction is for one effect: its reference and the number of the
	// provider-side request, 1 at first. It does no I/O.
	Instruction(ref string, issue int) (Instruction, error)
}

// Instruction is what a worker must put into its request, for people and for
// programs that render it.
type Instruction struct {
	About   string   // one sentence
	Setup   []string // what somebody must set up beforehand, and what can't be found
	Request string   // the call that it belongs to, e.g. "POST /issues.json"
	Fields  []Field
}

// Field is one value that the worker sets.
type Field struct {
	Place string // header, json, form, query, path, graphql, mime_header, text or column
	Name  string // header's name, dotted JSON path, parameter, column; then a remark, see package guide
	Value string
	Why   string
}
