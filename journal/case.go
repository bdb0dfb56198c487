package journal

import "time"

// Case is everything that one effect can be asked about, read for a person.
type Case struct {
	Snapshot
	Tool        Tool
	Evidence    []Evidence // newest first, at most 50
	Events      []Event    // oldest first, at most 500
	Decisions   []Decision // oldest first
	Resolutions []Resolution
	// Handovers is how far each resolution got on its way to the runtime, by its id;
	// HandoverTries are the tries, newest first, at most 100.
	Handovers     map[string]Handover
	HandoverTries []HandoverTry
	Siblings      []Sibling // other effects of the root run, at most 50
	Team          Team
	// SupersededBy is the effect that took this one's place, or empty.
	SupersededBy string
	// Compensation is the effect that undoes this one, nil if none began.
	Compensation *Sibling
	// Undoable is what closing this one as not landed would have undone, what was
	// completed last first, at most MaxUndoPage, without args and results. Empty
	// unless the tool's policy is CompensateRun.
	Undoable []Undoable
}

// Sibling is another effect of the same root run, for the effect page.
type Sibling struct {
	ID, Tool, Operation, Subject string
	Amount, Currency             string
	Class                        Class
	State                        State
	CreatedAt                    time.Time
}

// ListFilter narrows the list. Zero fields do not narrow. The list holds
// attention only: what is neither live nor settled.
type ListFilter struct {
	State     State
	Tool      string
	Class     Class
	Provider  string
	Namespace string
	RootRun   string
	Query     string      // substring of subject, operation, tool, provider id; or a whole id, key or reference
	Cause     CauseFilter // one burst of effects with one cause; reads MaxGrouped at most
	After     string      // cursor: an effect id with its time, as ListPage.Next gave it
	Newest    bool        // newest first; else oldest first
	Limit     int         // 0 = 50, at most 200
	// Claim narrows to what Viewer holds, or to what nobody does.
	Claim  ClaimFilter
	Viewer Actor
	// Snoozed shows what is snoozed, and nothing else; without it, that is left out.
	Snoozed bool
}

// ClaimFilter narrows the list by who is on an effect.
type ClaimFilter string

// The filters by claim; the zero value does not narrow.
const (
	ClaimMine ClaimFilter = "mine"
	ClaimNone ClaimFilter = "none"
)

// ListPage is one page of the list.
type ListPage struct {
	Rows []Snapshot // each assessed by the reader
	Next string     // cursor of the next page, empty at the end
	// Total counts what the filter matches, up to TotalCap.
	Total  int
	Counts []ListCount // by tool and provider, over all that needs attention
	// Snoozed is how many effects would need attention if they were awake.
	Snoozed int
	// Team is what the rows' effects have of it, by effect id.
	Team map[string]TeamMark
	Now  time.Time // the database's clock
}

// TotalCap bounds what ListPage.Total counts.
const TotalCap = 10_000

// ListCount is one group of the list's header.
type ListCount struct {
	Tool, Provider string
	Count          int
	Oldest         time.Time
}

// AuditRecord is an audit row for the auditor's page: the parsed body beside
// the sealed bytes.
type AuditRecord struct {
	Seq        int64
	At         time.Time
	Kind       string
	EffectID   string
	Actor      string
	Name       string
	Source     string
	Was, State string
	Tool       string
	Code       string
	Reason     string
	Result     string
	Evidence   string
	Hash       []byte
	Body       []byte
}
