package web

// The names of the bulk's fields, beside those of the decision form.
const (
	FieldFilter = "filter" // the list's query
	FieldCount  = "count"  // typed by hand
)

// CausesPage is the list with one line per cause.
type CausesPage struct {
	Shell
	Headline string // "7 causes behind 312 effects"
	Cut      string // that not all are grouped; empty = all are
	Groups   []ListGroup
	Form     ListForm
	Active   []ActiveFilter
	Lines    []CauseLine
	Toggle   *Link
	Several  *BulkStart
	Empty    *Notice
}

// CauseLine is one burst of one cause.
type CauseLine struct {
	URL            string // the list, narrowed to it
	Tool, Provider Text
	Error          Text
	Status         string // "503", empty = none
	Verdict        Badge
	Count          string // "37 effects"
	Oldest, Newest Stamp
	Sample         Text
	SampleURL      string
	Recommend      []BadgeCount
	Several        *BulkStart
}

// BadgeCount is a badge with how many it holds for.
type BadgeCount struct {
	Badge
	Count string
}

// BulkStart freezes what a filter shows.
type BulkStart struct {
	Filter string
	Text   string // of the button
	Label  string // for listeners: what it is about
}

// BulkHead says which set it is.
type BulkHead struct {
	ID    string
	Title string
	By    Text
	At    Stamp
	Facts []Fact // the filter
	List  string // the list under it
	Cut   string // that the filter matched more; empty = it did not
}

// BulkPage is the dry run with the form of the order.
type BulkPage struct {
	Shell
	Head     BulkHead
	Verdicts []BulkVerdict
	Choices  []BulkChoice
	Closed   string // why there is no form; empty = there is
	URL      string
	Draft    BulkDraft
	Codes    []Option
	Errors   FieldErrors
	Count    string // what is wrong with the typed number
}

// BulkVerdict is what the newest looks of a part of the set say.
type BulkVerdict struct {
	Verdict Badge
	Count   string
	Open    []string // of each choice, how many of these it reaches
}

// BulkChoice is one way to decide the set.
type BulkChoice struct {
	Value, Title, Means string
	Reaches             int // how many effects it reaches
	Reached             string
	Notes               []string // second person, fresh login
	Not                 []BulkNot
	Samples             []BulkSample // of what it reaches
	Checked             bool
}

// BulkNot is why a choice does not reach a part of the set.
type BulkNot struct {
	Why     string
	Count   string
	Samples []BulkSample
}

// BulkSample is one effect of a list that shows only some.
type BulkSample struct {
	URL     string
	Subject Text
}

// BulkDraft is the order's form as the person sent it.
type BulkDraft struct{ Choice, Code, Reason, Count string }

// BulkConfirmPage shows what would be ordered before it is.
type BulkConfirmPage struct {
	Shell
	Head             BulkHead
	Title            string
	Reached          string
	Follows, Asks    []string
	Against          []string // that it departs from what is recommended
	Left             string   // how many of the set are not reached; empty = none
	Code             string
	Reason           Text
	Draft            BulkDraft
	PostURL, EditURL string
	Button           string
}

// BulkResultPage is an order and what became of each item.
type BulkResultPage struct {
	Shell
	Head    BulkHead
	State   Badge
	Title   string // of the decision
	Code    string
	Reason  Text
	At      Stamp
	Ended   *Stamp
	Stopped Text // who stopped it
	Tally   []BadgeCount
	Rows    []BulkRow
	StopURL string // empty = it can't be stopped, or not by the viewer
	Running bool
	Watch   bool   // the page reloads by itself
	WatchTo string // the page with that switched
	Reviews bool   // something waits for a second person
	Several *BulkStart
}

// BulkRow is one item.
type BulkRow struct {
	No      string
	URL     string // empty = purged
	Effect  EffectLine
	Outcome Badge
	Why     string
	At      *Stamp
	State   Badge // as it is now
}
