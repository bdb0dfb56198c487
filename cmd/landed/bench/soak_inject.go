package bench

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/journal/journaltest/fault"
)

// inject spreads the faults over the effects: each waits for its share of them
// to be begun.
func (s *soak) inject(ctx context.Context) {
	kinds := s.kinds()
	weight := 0
	for _, k := range kinds {
		weight += k.weight
	}
	kills := max(s.o.Kills, 0)
	t := time.NewTicker(2 * time.Millisecond)
	defer t.Stop()
	for n := range s.o.Faults {
		for s.queue.begun() < (n+1)*s.o.Effects/(s.o.Faults+1) {
			select {
			case <-ctx.Done():
				return
			case <-s.queue.over:
				return
			case <-t.C:
			}
		}
		if kills > 0 && (n+1)*(kills+1)/s.o.Faults > n*(kills+1)/s.o.Faults && n+1 < s.o.Faults {
			s.killServer(ctx)
			continue
		}
		roll := s.dice.below(weight)
		for _, k := range kinds {
			if roll -= k.weight; roll < 0 {
				k.strike(ctx)
				break
			}
		}
	}
}

// soakFault is one kind of fault with its share among them.
type soakFault struct {
	weight int
	strike func(ctx context.Context)
}

func (s *soak) kinds() []soakFault {
	provider := func(kind string) func(context.Context) { return func(context.Context) { s.provider.fail(kind) } }
	return []soakFault{
		{20, func(context.Context) {
			s.trap("request_lost", fault.Point{Kind: fault.Bind, Nth: s.dice.below(40)}, fault.Cut())
		}},
		{20, func(context.Context) {
			s.trap("answer_lost", fault.Point{Kind: fault.CommandComplete, Nth: s.dice.below(40)}, fault.Cut())
		}},
		{8, func(context.Context) {
			s.trap("commit_answer_lost", fault.Point{Kind: fault.CommandComplete, SQL: "commit"}, fault.Cut())
		}},
		{10, func(context.Context) {
			s.trap("cut_anywhere", fault.Point{Nth: s.dice.below(300), After: s.dice.below(2) == 0}, fault.Cut())
		}},
		{4, func(context.Context) {
			s.trap("answer_delayed", fault.Point{Kind: fault.ReadyForQuery, Nth: s.dice.below(40)}, fault.Delay(time.Duration(20+s.dice.below(200))*time.Millisecond))
		}},
		{1, func(context.Context) {
			s.trap("half_open", fault.Point{Kind: fault.CommandComplete, Nth: s.dice.below(40)}, fault.Halt(time.Second))
		}},
		{3, func(ctx context.Context) { s.terminate(ctx) }},
		{1, func(context.Context) { s.proxy.CutAll(); s.faults.add("all_connections_cut") }},
		{1, s.refuse},
		{12, func(context.Context) { s.deaths.Add(1) }},
		{5, func(context.Context) { s.pauses.Add(1) }},
		{8, provider(faultAnswerDropped)},
		{6, provider(faultAnswerLate)},
		{4, provider(faultRequestDropped)},
		{4, provider(faultNotSent)},
	}
}

// trap counts a fault of the connection once it strikes.
func (s *soak) trap(kind string, at fault.Point, act fault.Act) {
	s.proxy.Arm(at, func(l *fault.Link) { s.faults.add(kind); act(l) })
}

// refuse closes the port for a moment.
func (s *soak) refuse(ctx context.Context) {
	if s.proxy.Refuse(true) != nil {
		return
	}
	s.faults.add("connections_refused")
	s.proxy.CutAll()
	wait(ctx, 100*time.Millisecond)
	for s.proxy.Refuse(false) != nil && ctx.Err() == nil {
		wait(ctx, 10*time.Millisecond)
	}
}

// terminate ends one session as an administrator does.
func (s *soak) terminate(ctx context.Context) {
	c, err := s.direct(ctx)
	if err != nil {
		return
	}
	defer func() { _ = c.Close(ctx) }()
	const one = `select count(pg_terminate_backend(pid)) from (select pid from pg_stat_activity
		where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend' order by random() limit 1) x`
	var n int
	if c.QueryRow(ctx, one).Scan(&n) == nil && n > 0 {
		s.faults.add("session_terminated")
	}
}

// direct connects past the proxy.
func (s *soak) direct(ctx context.Context) (*pgx.Conn, error) {
	s.pgMu.Lock()
	dsn := s.pg.DSN("postgres")
	s.pgMu.Unlock()
	return pgx.Connect(ctx, dsn)
}

// killServer kills the postmaster and starts it again on the same files.
func (s *soak) killServer(ctx context.Context) {
	s.pgMu.Lock()
	pg := s.pg
	s.pgMu.Unlock()
	p, err := os.FindProcess(pg.PID())
	if err != nil || p.Kill() != nil {
		return
	}
	s.faults.add("server_killed")
	<-pg.Done()
	_ = pg.Stop()
	for s.startServer(ctx) != nil && ctx.Err() == nil {
		wait(ctx, 200*time.Millisecond)
	}
	s.pgMu.Lock()
	defer s.pgMu.Unlock()
	_ = s.proxy.Redirect(s.pg.DSN("postgres"))
}

// mayDie kills the calling worker if one is due to die, now or at one of the
// coming moments.
func (s *soak) mayDie(moment string) {
	if s.due(&s.deaths) {
		s.faults.add("worker_killed_" + moment)
		panic(killed{})
	}
}

// mayPause stops the calling worker for longer than any attempt lasts.
func (s *soak) mayPause(ctx context.Context, moment string) {
	if s.due(&s.pauses) {
		s.faults.add("worker_paused_" + moment)
		wait(ctx, soakPause)
	}
}

// due takes one of n, now or at one of the coming moments.
func (s *soak) due(n *atomic.Int64) bool {
	if n.Load() == 0 || s.dice.below(3) > 0 {
		return false
	}
	if n.Add(-1) < 0 {
		n.Add(1)
		return false
	}
	return true
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
