package evidence

import "time"

// Use is how much of a provider's limits this process uses. Effects that are
// looked for together, and the measuring of the lag, take one turn each.
type Use struct {
	Limits     Limits // as they are in force: Concurrency is never 0
	Running    int    // turns under way
	LastMinute int    // turns begun in the last minute
}

// Use says how much of a configured provider's limits is used.
func (c *Collector) Use(provider string) (Use, bool) {
	d, ok := c.desks[provider]
	if !ok {
		return Use{}, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return Use{Limits: d.limits, Running: len(d.slots), LastMinute: d.last.total(time.Now())}, true
}

func (d *desk) count(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last.add(now)
}

// minute counts by the second over the last minute: an entry per turn would grow
// with a provider that has no limit.
type minute [60]struct {
	second int64
	n      int
}

func (m *minute) add(now time.Time) {
	b := &m[now.Unix()%60]
	if b.second != now.Unix() {
		b.second, b.n = now.Unix(), 0
	}
	b.n++
}

func (m *minute) total(now time.Time) int {
	n := 0
	for _, b := range m {
		if age := now.Unix() - b.second; age >= 0 && age < 60 {
			n += b.n
		}
	}
	return n
}
