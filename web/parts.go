package web

// Shell is what every page has around its content.
type Shell struct {
	Title   string
	Heading string // of pages without a heading of their own
	// CSS, JS and Icon are URLs of the embedded files.
	CSS, JS, Icon string
	Nav           []NavLink
	Who           Text   // the person; empty = nobody is logged in
	Roles         string // what the person may do, in words
	Token         string // the session's form token
	// Made is when the page was made, on the journal's clock.
	Made *Stamp
	Note *Notice
}

// NavLink is one entry of the page head.
type NavLink struct {
	Text, URL string
	Current   bool
}

// Notice is a message above the content.
type Notice struct {
	Tone  Tone
	Title string
	Lines []string
	Links []Link
	// Fields are the inputs that a refused form has to mend.
	Fields []Link
	// Kept is a person's text that was not recorded and has no form any more.
	Kept string
}

// Link is a text that leads somewhere on this site.
type Link struct{ Text, URL string }

// Tone says how something is meant: it picks colour and sign, never the text.
type Tone string

// The tones.
const (
	ToneGood  Tone = "good"
	ToneWarn  Tone = "warn"
	ToneStop  Tone = "stop"
	ToneInfo  Tone = "info"
	ToneWait  Tone = "wait"
	ToneQuiet Tone = "quiet"
)

// Badge is a short state with its tone.
type Badge struct {
	Tone Tone
	Text string
}

// Stamp is an instant for people: how far away it is, and exactly when.
type Stamp struct {
	ISO  string // RFC 3339, UTC
	Full string // "30 Nov 2026, 02:05:22 UTC"
	Rel  string // "3 h 12 min", "3 h 12 min ago", "in 20 min"
	Form StampForm
}

// StampForm says how Rel is put; the page script keeps it fresh in the same form.
type StampForm string

// The forms of a Stamp.
const (
	FormAge StampForm = "age" // "3 h 12 min"
	FormAgo StampForm = "ago" // "3 h 12 min ago", "in 20 min"
)

// Countdown is something that ends.
type Countdown struct {
	Label string
	Tone  Tone // ToneStop when it is over or nearly so
	At    Stamp
	Over  bool
}

// Option is one entry of a select.
type Option struct {
	Value, Text string
	Selected    bool
}

// Fact is a name with its value.
type Fact struct {
	Name  string
	Value Text
	URL   string // on this site; empty = not a link
	Code  bool   // an id or the like
	At    *Stamp // instead of Value
}
