package evidence

import (
	"time"

	"github.com/landedhq/landed/journal"
)

// Trust says what a look at an effect that never landed would bring, all times
// being over: true if an empty answer would be believed, else the judge's reason
// and explanation. f is the look-up of a reference that nobody has.
func Trust(f Facts, sheet Sheet) (believed bool, reason, why string) {
	now := time.Unix(1<<40, 0) // any: only distances count
	past := now.Add(-sheet.IndexLag - sheet.ProcessingHorizon - time.Second)
	j := Judge(f, sheet, Timing{StartedAt: now, FirstGrant: past, FencedAt: past, SendBy: past, Attempt: 1, Attempts: 1})
	return j.Verdict == journal.NotFound, j.Reason, j.Explanation
}

// InForce is the index lag that counts: the larger of the declared one and three
// times the 99th percentile that was measured.
func InForce(sheet Sheet, lag journal.Lag) time.Duration { return max(sheet.IndexLag, 3*lag.P99) }

// waited is InForce with what it is made of, as evidence keeps it.
func waited(sheet Sheet, lag journal.Lag) journal.Waited {
	return journal.Waited{Lag: InForce(sheet, lag), Declared: sheet.IndexLag, P99: lag.P99, Samples: lag.Samples, Lost: lag.Lost}
}
