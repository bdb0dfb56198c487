package handlers

import (
	"fmt"

	"github.com/landedhq/landed/web"
)

// pacePanel shows the limits that the configuration sets, and how much of them is
// used now.
func pacePanel(k clock, one providerView) web.PacePanel {
	u := one.use
	minute := fmt.Sprintf("no limit; %s in the last minute", turns(u.LastMinute))
	if per := u.Limits.LooksPerMinute; per > 0 {
		minute = fmt.Sprintf("%s at most; %s in the last minute", turns(per), web.Number(u.LastMinute))
	}
	p := web.PacePanel{
		Note: "Limits hold for each process of Landed; the figures are this one’s. Effects that are looked for together take one turn.",
		Facts: []web.Fact{
			{Name: "At a time", Value: web.Plain(fmt.Sprintf("%s at most; %s under way", turns(u.Limits.Concurrency), web.Number(u.Running)))},
			{Name: "A minute", Value: web.Plain(minute)},
		},
	}
	pause := web.Fact{Name: "Pause", Value: web.Plain("none")}
	if until := one.state.PausedUntil; until != nil {
		pause = web.Fact{Name: "Paused until", At: k.maybe(*until)}
	}
	p.Facts = append(p.Facts, pause)
	return p
}

func turns(n int) string { return web.Count(n, "turn", "turns") }
