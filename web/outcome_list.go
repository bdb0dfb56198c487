package web

// OutcomesPage lists what was decided or settled and is not done yet.
type OutcomesPage struct {
	Shell
	Rows []OutcomeLine
	Cut  string // says that there are more
	// Runtimes are those that outcomes are handed over to; none = all are asked for.
	Runtimes []RuntimeLine
}

// RuntimeLine is one runtime that outcomes are handed over to.
type RuntimeLine struct {
	Name     Text
	Kind     string
	State    Badge
	Detail   Text
	Promises []string
	Load     string // what is on its way, or did not arrive
	Oldest   *Stamp // pending
	Taken    *Stamp // its newest good answer
}

// OutcomeLine is one of them.
type OutcomeLine struct {
	URL    string
	Effect EffectLine
	What   string // "Re-issue ordered"
	By     Text
	At     Stamp
	Stage  Badge
	Detail string
	Until  *Stamp
	// Target and Way are of an outcome that is handed over; Way is nil where the
	// runtime asks.
	Target Text
	Way    *OutcomeWay
}

// OutcomeWay is how far handing over got.
type OutcomeWay struct {
	State  Badge
	Detail string
	At     *Stamp
	Reason Text
}
