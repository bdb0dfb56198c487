package model

// provider is the truth: what really happened out there. It drops a repeat of
// one provider key inside its window, as a provider of an idempotent tool does,
// and nothing else.
type provider struct {
	landings []landing
	ordered  map[string]bool // the orders that attempts consumed
	lied     bool            // a worker reported what was not so: counting proves nothing
}

type landing struct {
	issue, at int
	id        string
}

// arrive is a request that reaches the provider. It returns the id of what it
// made, or of what the same key made before.
func (p *provider) arrive(class string, issue, now int, fresh string) string {
	if class == idempotent {
		for _, l := range p.landings {
			if l.issue == issue && now < l.at+keyWindow {
				return l.id
			}
		}
	}
	p.landings = append(p.landings, landing{issue, now, fresh})
	return fresh
}

// tooMany reports whether more landed than operators asked for.
func (p *provider) tooMany() bool { return !p.lied && len(p.landings) > 1+len(p.ordered) }

// judge says what a look made now may truthfully say. NOT_FOUND covers only
// attempts that are fenced and whose requests can no longer arrive.
func judge(p *provider, e *effect, now, variant int) look {
	switch n := len(p.landings); {
	case n > 1:
		return look{verdict: duplicate}
	case n == 1 && variant%4 == 3:
		return look{verdict: pending, again: now + lookAgain}
	case n == 1:
		return look{verdict: found}
	}
	covers := 0
	for _, a := range e.attempts {
		if !a.fenced || now <= a.deadline || covers != a.number-1 {
			break
		}
		covers = a.number
	}
	switch {
	case variant%8 == 5:
		return look{verdict: cannot, reason: "provider_error"}
	case variant%8 == 6:
		return look{verdict: notEffective}
	case covers == 0 || variant%8 == 7:
		return look{verdict: cannot, reason: "too_early", again: now + lookAgain}
	}
	return look{verdict: notFound, covers: covers}
}
