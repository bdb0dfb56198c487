package fault

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Kind is a kind of message of the PostgreSQL protocol, with its direction.
type Kind uint16

const fromServer Kind = 1 << 8

// The kinds that a Point may name. The protocol has more; Any stands for all.
const (
	Any             Kind = 0 // every message after the start-up
	Startup         Kind = 1 // the client's first message
	Query           Kind = 'Q'
	Parse           Kind = 'P'
	Bind            Kind = 'B'
	Execute         Kind = 'E'
	Sync            Kind = 'S'
	DataRow              = fromServer | 'D'
	CommandComplete      = fromServer | 'C'
	ErrorResponse        = fromServer | 'E'
	ReadyForQuery        = fromServer | 'Z'
)

func (k Kind) String() string {
	names := map[Kind]string{Any: "any message", Startup: "Startup", Query: "Query", Parse: "Parse", Bind: "Bind", Execute: "Execute",
		Sync: "Sync", DataRow: "DataRow", CommandComplete: "CommandComplete", ErrorResponse: "ErrorResponse", ReadyForQuery: "ReadyForQuery"}
	if n, ok := names[k]; ok {
		return n
	}
	return string(rune(k & 0xff))
}

// Point is a moment in the talk between client and server.
type Point struct {
	Kind Kind
	// SQL is a part of the statement that the message belongs to, as the client
	// sent it; "" = of any. Letter case does not count.
	SQL string
	// Statement, if set, says whether it is one of the statements that are meant.
	Statement func(sql string) bool
	// Nth says which matching message from now on, over all connections; 0 and 1
	// are the next one.
	Nth int
	// After acts once the message was passed on; else it is held back first.
	After bool
}

// Act is what happens at a point. It may end or silence the link; if it does
// not, the message is passed on.
type Act func(l *Link)

// Cut ends the connection on both sides at once.
func Cut() Act { return func(l *Link) { l.cut() } }

// Halt lets nothing pass any more, in either direction: a connection that is
// half open. Neither side learns that the other gave up. After d it is cut; 0 =
// only by Proxy.CutAll or Close.
func Halt(d time.Duration) Act {
	return func(l *Link) {
		l.halt()
		if d > 0 {
			time.AfterFunc(d, l.cut)
		}
	}
}

// Delay holds the message back for d, or until the link ends.
func Delay(d time.Duration) Act {
	return func(l *Link) {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-l.over:
		}
	}
}

// Run calls f while the message is held.
func Run(f func()) Act { return func(*Link) { f() } }

// Trap is an act that waits for its point. It springs once.
type Trap struct {
	point  Point
	act    Act
	proxy  *Proxy
	once   sync.Once
	met    atomic.Bool
	sprung chan struct{}
}

// Sprung is closed once the act was done.
func (t *Trap) Sprung() <-chan struct{} { return t.sprung }

// Met reports whether the message came by: the act then is done, or under way.
// Whoever has read the message, or what it was cut from, sees true.
func (t *Trap) Met() bool { return t.met.Load() }

// Disarm takes the trap away; one that is springing is not stopped.
func (t *Trap) Disarm() { t.proxy.disarm(t) }

// spring does the act.
func (t *Trap) spring(l *Link) {
	t.act(l)
	t.once.Do(func() { close(t.sprung) })
}

// matches reports whether a message is of the point; Nth is counted elsewhere.
func (p Point) matches(k Kind, sql string) bool {
	if p.Kind != k && (p.Kind != Any || k == Startup) {
		return false
	}
	if p.Statement != nil && !p.Statement(sql) {
		return false
	}
	return p.SQL == "" || strings.Contains(strings.ToLower(sql), strings.ToLower(p.SQL))
}
