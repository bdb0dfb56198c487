package journal

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxGrouped bounds how many effects a grouping by cause reads.
const MaxGrouped = 2000

// BurstGap parts two outages: effects of one cause that began further apart than
// this are not one burst.
const BurstGap = 10 * time.Minute

// Cause is what the effects of one outage have in common.
type Cause struct {
	Tool, Provider string
	Error          string  // the newest attempt's error as ErrorClass puts it; "" = nobody reported one
	Status         int     // the provider's status code beside it, 0 if none
	Verdict        Verdict // of the look that counts, "" = nobody looked
}

// CauseOf says why the effect is where it is. Any hit outweighs the misses after it.
func CauseOf(s *Snapshot) Cause {
	c := Cause{Tool: s.Effect.Tool, Provider: s.Effect.Provider}
	if a, ok := s.Current(); ok {
		c.Error, c.Status = ErrorClass(a.Error), a.Status
	}
	if l, ok := s.Hit(); ok {
		c.Verdict = l.Verdict
	} else if l, ok := s.LastLook(); ok {
		c.Verdict = l.Verdict
	}
	return c
}

// Key names the cause in an address: 16 hex digits.
func (c Cause) Key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d\x00%s", c.Tool, c.Provider, c.Error, c.Status, c.Verdict))
	return hex.EncodeToString(sum[:8])
}

// CauseGroup is one burst of effects with one cause.
type CauseGroup struct {
	Cause
	Count          int
	Oldest, Newest time.Time // when they began
	Sample         Sibling   // the oldest
	Recommend      []RecommendCount
}

// RecommendCount is how many effects of a group have one recommendation.
type RecommendCount struct {
	Recommend Recommendation
	Mode      ReissueMode
	Count     int
}

// CausePage is the list, grouped by cause.
type CausePage struct {
	Groups []CauseGroup // most effects first
	Read   int          // how many effects were grouped
	Cut    bool         // there are more: MaxGrouped were read
	Total  int
	Counts []ListCount
	Now    time.Time
}

// CauseFilter narrows the list to one burst. Zero does not narrow.
type CauseFilter struct {
	Key      string // of the cause
	From, To time.Time
}

// Filter narrows the list to the group, with what joins the burst later.
func (g CauseGroup) Filter() CauseFilter {
	return CauseFilter{Key: g.Key(), From: g.Oldest, To: g.Newest.Add(BurstGap)}
}

// Zero reports whether f does not narrow.
func (f CauseFilter) Zero() bool { return f.Key == "" }

// String is the filter in an address.
func (f CauseFilter) String() string {
	if f.Zero() {
		return ""
	}
	return f.Key + "-" + strconv.FormatInt(f.From.UnixMicro(), 36) + "-" + strconv.FormatInt(f.To.UnixMicro(), 36)
}

// ParseCauseFilter reads what String wrote; zero for everything else.
func ParseCauseFilter(s string) CauseFilter {
	part := strings.Split(s, "-")
	if len(part) != 3 || len(part[0]) != 16 {
		return CauseFilter{}
	}
	if _, err := hex.DecodeString(part[0]); err != nil {
		return CauseFilter{}
	}
	from, err := strconv.ParseInt(part[1], 36, 64)
	to, err2 := strconv.ParseInt(part[2], 36, 64)
	const latest = 253402300799 * 1_000_000 // the last second of the year 9999
	if err != nil || err2 != nil || from < 0 || to < from || to > latest {
		return CauseFilter{}
	}
	return CauseFilter{Key: part[0], From: time.UnixMicro(from), To: time.UnixMicro(to)}
}

// Holds reports whether the effect belongs to the burst.
func (f CauseFilter) Holds(s *Snapshot) bool {
	return f.Zero() || !s.Effect.CreatedAt.Before(f.From) && !s.Effect.CreatedAt.After(f.To) && CauseOf(s).Key() == f.Key
}

// GroupByCause makes one line of every burst, most effects first. The rows are
// sorted in place.
func GroupByCause(rows []Snapshot) []CauseGroup {
	slices.SortFunc(rows, func(a, b Snapshot) int {
		return cmp.Or(a.Effect.CreatedAt.Compare(b.Effect.CreatedAt), cmp.Compare(a.Effect.ID, b.Effect.ID))
	})
	var out []CauseGroup
	open := map[Cause]int{} // the newest burst of each cause
	for i := range rows {
		s := &rows[i]
		c := CauseOf(s)
		at, ok := open[c]
		if !ok || s.Effect.CreatedAt.Sub(out[at].Newest) > BurstGap {
			at = len(out)
			open[c] = at
			out = append(out, newCauseGroup(c, s))
		}
		out[at].add(s)
	}
	for i := range out {
		slices.SortStableFunc(out[i].Recommend, func(a, b RecommendCount) int { return b.Count - a.Count })
	}
	slices.SortStableFunc(out, func(a, b CauseGroup) int { return b.Count - a.Count })
	return out
}

func newCauseGroup(c Cause, s *Snapshot) CauseGroup {
	e := &s.Effect
	return CauseGroup{Cause: c, Oldest: e.CreatedAt, Sample: Sibling{ID: e.ID, Tool: e.Tool, Operation: e.Operation, Subject: e.Subject,
		Amount: e.Amount, Currency: e.Currency, Class: e.Class, State: e.State, CreatedAt: e.CreatedAt}}
}

func (g *CauseGroup) add(s *Snapshot) {
	g.Count++
	g.Newest = s.Effect.CreatedAt
	a := Assess(s)
	for i := range g.Recommend {
		if r := &g.Recommend[i]; r.Recommend == a.Recommend && r.Mode == a.Mode {
			r.Count++
			return
		}
	}
	g.Recommend = append(g.Recommend, RecommendCount{Recommend: a.Recommend, Mode: a.Mode, Count: 1})
}
