package httpkey

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// holdFor is how long an answer that is being written waits for its end. One
	// that is complete by then goes out after it was recorded.
	holdFor = 100 * time.Millisecond
	// holdBytes is how much of an answer waits.
	holdBytes = 64 << 10
	// recordWithin is how long a complete answer waits for a journal that does not
	// record it: the effect is done, and the client should hear of it.
	recordWithin = 2 * time.Second
)

// recorder takes an answer from the handler, keeps up to most bytes of it, and
// holds it back until it is complete and recorded. A good answer that takes
// longer goes through to the client as it comes; any other is held to its end,
// as the journal's word decides what the client is told.
type recorder struct {
	w     http.ResponseWriter // the client's
	add   http.Header         // what is sent besides the handler's headers
	most  int64
	stall time.Duration // how long one write to the client may take
	mu    sync.Mutex
	head  http.Header // the handler's
	code  int         // 0 until the handler began to answer
	sent  http.Header // head as it was then
	body  []byte      // the first most bytes
	total int64
	live  bool // the client is being answered
	gone  bool // and does not take it
	whole bool // nothing more comes
	over  bool // nobody may write to the client but who answers in the end
	timer *time.Timer
}

func newRecorder(w http.ResponseWriter, add http.Header, most int64, stall time.Duration) *recorder {
	return &recorder{w: w, add: add, most: most, stall: stall, head: http.Header{}}
}

// Header implements http.ResponseWriter.
func (c *recorder) Header() http.Header { return c.head }

// WriteHeader implements http.ResponseWriter. Informational answers stay here.
func (c *recorder) WriteHeader(code int) {
	if code < 100 || code > 999 {
		panic(fmt.Sprintf("the handler's status %d is none", code)) // as net/http does
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin(code)
}

func (c *recorder) begin(code int) {
	if c.code != 0 || code < 200 {
		return
	}
	c.code, c.sent = code, c.head.Clone()
}

// Write implements io.Writer. It never fails: a client that went away must not
// keep the handler from finishing, or the answer from being recorded.
func (c *recorder) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin(http.StatusOK)
	room := max(c.most-int64(len(c.body)), 0)
	if !c.live && c.passes() && c.total+int64(len(p)) > min(holdBytes, c.most) {
		c.goLive()
	}
	c.total += int64(len(p))
	c.body = append(c.body, p[:min(int64(len(p)), room)]...)
	if c.live {
		c.pass(p)
	}
	return len(p), nil
}

// pass sends to the client, as long as it takes what is sent: one that stalls must
// not keep the outcome from being recorded either.
func (c *recorder) pass(p []byte) {
	if c.gone {
		return
	}
	control := http.NewResponseController(c.w)
	_ = control.SetWriteDeadline(time.Now().Add(c.stall)) // not every server can; net/http lifts it for the next request
	_, err := c.w.Write(p)
	c.gone = err != nil
}

// flush sends what net/http holds.
func (c *recorder) flush() {
	if c.gone {
		return
	}
	control := http.NewResponseController(c.w)
	_ = control.SetWriteDeadline(time.Now().Add(c.stall))
	c.gone = control.Flush() != nil
}

// Flush implements http.Flusher.
func (c *recorder) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin(http.StatusOK)
	switch {
	case c.live:
		c.flush()
	case c.passes() && c.timer == nil:
		c.timer = time.AfterFunc(holdFor, c.lateStart)
	}
}

// passes reports whether the answer is one that the client may see before the
// journal knows of it.
func (c *recorder) passes() bool { return confirms(c.code) }

func (c *recorder) lateStart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live || c.over {
		return
	}
	c.goLive()
	c.flush()
}

// goLive sends what was held.
func (c *recorder) goLive() {
	c.live = true
	h := c.w.Header()
	for name, values := range c.sent {
		h[name] = values
	}
	for name, values := range c.add {
		h[name] = values
	}
	if c.whole && c.sent.Get("Trailer") == "" {
		h.Set("Content-Length", strconv.FormatInt(c.total, 10))
	}
	c.w.WriteHeader(c.code)
	if len(c.body) > 0 {
		c.pass(c.body)
	}
}

// finish notes that the handler is done. The answer of one that confirmed is
// held for the journal, but not for ever.
func (c *recorder) finish(confirmed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin(http.StatusOK)
	c.whole = true
	if c.timer != nil {
		c.timer.Stop()
	}
	if confirmed && !c.live && c.passes() {
		c.timer = time.AfterFunc(recordWithin, c.lateStart)
	}
}

// end takes the client back: from now on only the caller writes to it. It reports
// whether the client has been answered.
func (c *recorder) end() (live bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if c.timer != nil {
		c.timer.Stop()
	}
	return c.live
}

// started reports whether the client has seen anything.
func (c *recorder) started() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live
}

// answer is what the handler said: the body as far as it was kept.
func (c *recorder) answer() (code int, h http.Header, body []byte, total int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.code, c.sent, c.body, c.total
}

// deliver sends a held answer whole.
func (c *recorder) deliver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.goLive()
	c.trailers()
}

// trailers passes on what the handler set after the body.
func (c *recorder) trailers() {
	h := c.w.Header()
	for _, name := range strings.Split(c.sent.Get("Trailer"), ",") {
		if v := c.head.Values(strings.TrimSpace(name)); len(v) > 0 {
			h[http.CanonicalHeaderKey(strings.TrimSpace(name))] = v
		}
	}
	for name, v := range c.head {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			h[name] = v
		}
	}
}

// confirms reports whether a status says that the request was carried out: 2xx,
// and 303, which sends to where the outcome is (RFC 9110, section 15.4.4).
func confirms(code int) bool {
	return code >= 200 && code < 300 || code == http.StatusSeeOther
}
