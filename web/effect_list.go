package web

// ListPage is the list of everything that needs attention.
type ListPage struct {
	Shell
	Headline string // "23 effects need attention"
	Oldest   *Stamp
	Groups   []ListGroup
	Form     ListForm
	Active   []ActiveFilter
	Rows     []ListRow
	More     string // URL of the next page; empty at the end
	First    string // URL of the first page; empty on it
	Empty    *Notice
	Snoozed  *Link // the list of what is put aside, or back from it
	Toggle   *Link // one line per cause
	Several  *BulkStart
}

// ListGroup counts what needs attention at one tool and provider.
type ListGroup struct {
	Tool, Provider Text
	Count          string
	Oldest         Stamp
	URL            string
	Current        bool
}

// ListForm is the filter form.
type ListForm struct {
	Query, Namespace, RootRun string
	States, Tools, Classes    []Option
	Providers, Sorts          []Option
	Open                      bool     // a filter inside the fold is set
	Clear, Self               string   // the list without filters, and as it is
	Kept                      []Option // further parts of the query, by name
	Claims                    []Option // who is on it
}

// ActiveFilter is a filter that is set, with the list without it.
type ActiveFilter struct {
	Name  string
	Value Text
	URL   string
}

// ListRow is one effect at a glance.
type ListRow struct {
	URL             string
	Subject         Text
	Tool, Operation Text
	Money           Text
	Namespace       Text
	Age             Stamp
	State           Badge
	Class           string
	ClassMeaning    string
	Verdict         Badge
	VerdictWhy      string // why a look can’t tell
	Looked          *Stamp
	Recommend       Badge
	Until           *Stamp // what a recommendation to wait waits for
	Countdowns      []Countdown
	Flags           []Badge
}
