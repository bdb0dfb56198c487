package postgres

import (
	"strconv"
	"testing"
	"time"
)

// TestSeenEffects_KeepsFewAndNotForLong: what pages showed is bounded in number
// and time, and is handed out for the very row that was read.
func TestSeenEffects_KeepsFewAndNotForLong(t *testing.T) {
	t.Parallel()
	var c seenEffects
	at := func(id int, xmin uint32) listedRow { return listedRow{id: strconv.Itoa(id), row: rowID{1, xmin}} }
	keep := func(r listedRow) {
		c.put(map[string]*seenEffect{r.id: {row: r.row}}, map[string]rowID{r.id: r.row})
	}
	has := func(r listedRow) bool {
		have, want := c.get([]listedRow{r})
		if (have[r.id] != nil) == (len(want) == 1) {
			t.Fatalf("%s is kept %v and wanted %v", r.id, have, want)
		}
		return have[r.id] != nil
	}
	keep(at(0, 7))
	if !has(at(0, 7)) || has(at(0, 8)) || has(at(1, 7)) {
		t.Fatal("handed out for another row, or not at all")
	}
	keep(at(0, 8))
	if !has(at(0, 8)) || has(at(0, 7)) {
		t.Error("an older row was handed out")
	}
	c.put(map[string]*seenEffect{"2": {row: rowID{2, 2}}}, map[string]rowID{"2": {1, 1}})
	if has(listedRow{id: "2", row: rowID{2, 2}}) {
		t.Error("kept what moved on while it was read")
	}
	for i := range 3 * maxSeen {
		keep(at(i+10, 1))
	}
	if n := len(c.young) + len(c.old); n > 2*maxSeen {
		t.Errorf("%d are kept, at most %d", n, 2*maxSeen)
	}
	if last := at(3*maxSeen+9, 1); !has(last) {
		t.Error("the newest is not kept")
	}
	keep(at(5, 1))
	for _, passed := range []struct {
		by   time.Duration
		kept bool
	}{{seenFor - time.Second, true}, {2 * time.Second, true}, {seenFor - time.Second, true}, {2 * time.Second, false}} {
		c.since = c.since.Add(-passed.by)
		if has(at(5, 1)) != passed.kept {
			t.Fatalf("after %v more: kept %v", passed.by, !passed.kept)
		}
	}
	keep(at(6, 1))
	c.since = c.since.Add(-2 * seenFor)
	if has(at(6, 1)) {
		t.Error("kept over a pause of the desk")
	}
}
