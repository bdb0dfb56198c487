package web

// OutcomesPage lists what was decided or settled and is not done yet.
type OutcomesPage struct {
	Shell
	Rows []OutcomeLine
	Cut  string // says that there are more
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
