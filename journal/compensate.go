package journal

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A compensation is an effect that undoes another one: journaled like any other,
// at most one per effect, of the same namespace and root run. Landed names what
// can be undone and keeps the order; workers execute.

// Undoable is a completed effect of a root run that has a compensating tool and
// no committed compensation.
type Undoable struct {
	EffectID         string
	Tool             string
	CompensatedBy    string // the tool that undoes it
	Operation        string
	Subject          string
	Amount, Currency string
	Args             []byte // raw JSON; nil = never stored, or not asked for
	Result           []byte // raw bytes of the commit; nil = none, or not asked for
	ProviderID       string
	ProbablyDouble   bool      // it may have happened twice: one undo undoes one
	CompletedAt      time.Time // when it became COMMITTED
	// Undo is the state of its compensation, Compensation its effect id; both are
	// empty if none began.
	Undo         State
	Compensation string
}

// UndoQuery asks for what is left to undo of one root run.
type UndoQuery struct {
	Namespace string
	RootRun   string
	After     string // UndoPage.Next of the page before; empty = from the newest
	Limit     int    // 0 = MaxUndoPage, which is also the most
}

// UndoPage is one page of it, what was completed last first. A page may be
// shorter than asked for: args and results of 2 MiB end it.
type UndoPage struct {
	Effects []Undoable
	Next    string // where the next page starts; empty only after an empty page
}

// MaxUndoPage is how many effects a page holds at most.
const MaxUndoPage = 200

// UndoAfter is the cursor behind u. Values of times are kept to the microsecond,
// as the store does.
func UndoAfter(u Undoable) string {
	return strconv.FormatInt(u.CompletedAt.UnixMicro(), 10) + "." + u.EffectID
}

// Validate checks the query; the error is an *InvalidError.
func (q UndoQuery) Validate() error {
	if q.Namespace != "" {
		if err := ValidateName("namespace", q.Namespace); err != nil {
			return err
		}
	}
	if strings.TrimSpace(q.RootRun) == "" {
		return invalid("root_run", "is missing: name the run that is to be undone")
	}
	if err := checkText("root_run", q.RootRun, MaxTextBytes); err != nil {
		return err
	}
	if q.Limit < 0 || q.Limit > MaxUndoPage {
		return invalid("limit", fmt.Sprintf("must lie between 1 and %d", MaxUndoPage))
	}
	_, _, err := q.Cursor()
	return err
}

// Cursor reads After; a zero time means from the newest.
func (q UndoQuery) Cursor() (at time.Time, id string, err error) {
	if q.After == "" {
		return time.Time{}, "", nil
	}
	text, id, _ := strings.Cut(q.After, ".")
	us, err := strconv.ParseInt(text, 10, 64)
	if err != nil || us <= 0 || us > 253402300799_000000 || !ValidID(id) {
		return time.Time{}, "", invalid("after", "is not a cursor that a page gave")
	}
	return time.UnixMicro(us).UTC(), id, nil
}

// UndoKey is the key of the effect that undoes another one of its root run. It
// depends on nothing else, so that whoever undoes the run a second time finds
// what the first one did.
func UndoKey(rootRun, effectID string) (string, error) {
	if !ValidID(effectID) {
		return "", invalid("compensates", "must be an effect id")
	}
	return DeriveKey(rootRun, "undo", effectID, "")
}

func (t Tool) validateCompensation() error {
	if t.CompensatedBy == "" {
		return nil
	}
	switch err := ValidateName("compensated_by", t.CompensatedBy); {
	case err != nil:
		return err
	case t.CompensatedBy == t.Name:
		return invalid("compensated_by", "names the tool itself: name the tool that undoes it")
	case t.Class == ClassReadOnly:
		return invalid("compensated_by", "is for tools with effects: a read_only tool leaves nothing to undo")
	}
	return nil
}

func (r BeginRequest) validateCompensates() error {
	switch {
	case r.Compensates == "":
		return nil
	case !ValidID(r.Compensates):
		return invalid("compensates", "must be an effect id")
	case r.Supersedes != "":
		return invalid("compensates", "and supersedes exclude each other")
	}
	return nil
}

// Compensable reports whether e may be undone by an effect of a namespace and
// root run.
func (e *Effect) Compensable(namespace, rootRun string) bool {
	return e.State == StateCommitted && e.Compensates == "" && e.Namespace == namespace && e.RootRun == rootRun
}
