package temporal

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.temporal.io/sdk/workflow"
)

// header is where lineage and call travel.
const header = "landed"

// lineage says where a run stands in the tree of its root run, in a way that a
// replay, a reset and a workflow retry come to again. Temporal's own run id is of
// no use for that: it changes with each of them.
type lineage struct {
	// Root is the root run: "<workflow id>/<run id of the first run of its chain>".
	Root string `json:"root"`
	// Path is how a child was come to: "c2" is the second child workflow that its
	// parent started.
	Path string `json:"path,omitempty"`
	// Link counts the continuations as new before this run.
	Link int `json:"link,omitempty"`
	// Started is when the root run began; zero = unknown.
	Started time.Time `json:"started,omitzero"`
}

// prefix is the part of every key that is the run's.
func (l lineage) prefix() string {
	if l.Link == 0 {
		return l.Path
	}
	return l.Path + "+" + strconv.Itoa(l.Link)
}

// continued is the lineage of the run that continues this one as new.
func (l lineage) continued() lineage {
	l.Link++
	return l
}

// child is the lineage of this run's nth child workflow.
func (l lineage) child(n int) lineage {
	l.Path, l.Link = l.prefix()+"c"+strconv.Itoa(n), 0
	return l
}

// own is the lineage of a run that nobody handed one.
//
//   - The first run of a chain is its root; a retry of it is the same root, as the
//     chain's first run id stays.
//   - A run that was continued by a worker without the interceptor can't know its
//     place, so it becomes a root of its own: what it does is new.
//   - Under a cron schedule each run is new, and Temporal carries headers on from
//     run to run: what was handed over is not of this run.
//
// All of them survive a reset: it keeps the first and the original run id.
func own(info *workflow.Info, handed *lineage) (lineage, error) {
	id := short(info.WorkflowExecution.ID)
	if info.CronSchedule != "" {
		if info.Attempt > 1 {
			return lineage{}, misuse("workflow %s is a retry under a cron schedule: which effects it repeats can't be told. Use a Temporal Schedule instead of a cron schedule, or no retry policy", id)
		}
		return lineage{Root: id + "/" + info.OriginalRunID, Started: info.WorkflowStartTime}, nil
	}
	if handed != nil {
		return *handed, nil
	}
	if info.ContinuedExecutionRunID != "" && info.Attempt <= 1 {
		return lineage{Root: id + "/" + info.OriginalRunID}, nil
	}
	l := lineage{Root: id + "/" + info.FirstRunID}
	if info.Attempt <= 1 {
		l.Started = info.WorkflowStartTime
	}
	return l, nil
}

// maxID is how much of a workflow's id stands in a root run as it is: the journal
// takes 500 bytes, Temporal 1,000 of any kind.
const maxID = 300

// short is a workflow's id as the journal takes it.
func short(id string) string {
	if len(id) <= maxID && utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	kept := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(id[:min(len(id), maxID/2)], "_"))
	return kept + "~" + hex.EncodeToString(sum[:16])
}
