package web

import "strconv"

// ReviewsPage lists what waits for other people than those who acted, and what
// nobody acted on: settlements by policy.
type ReviewsPage struct {
	Shell
	Proposals []ProposalRow
	Reviews   []ReviewRow
	Settled   []SettledRow
	Older     string // URL of the settlements before; empty at the end
	First     string // URL of the newest; empty on them
}

// ProposalRow is a decision that waits for its second person.
type ProposalRow struct {
	URL         string
	Effect      EffectLine
	What        string
	By          Text
	At, Expires Stamp
	Overrides   []string
	Mine        bool // the viewer proposed it
}

// EffectLine names an effect in a row.
type EffectLine struct {
	Subject, Tool, Operation, Money Text
}

// ReviewRow is a decision that was taken alone.
type ReviewRow struct {
	ID      string
	URL     string
	Effect  EffectLine
	What    string
	By      Text
	At, Due Stamp
	Late    bool
	Reason  Text
	Open    bool   // the viewer may close it
	Why     string // why not
	Draft   string
	Error   string
}

// SettledRow is what policy settled.
type SettledRow struct {
	URL    string
	Effect EffectLine
	At     Stamp
	State  Badge
	Now    string // what became of the settlement
	ID     Text
}

func reviewField(i int) string { return "f-review-" + strconv.Itoa(i) }
