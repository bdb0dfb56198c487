package egress

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"sync"
)

// maxShared caps what one Share holds; later answers are fetched again.
const maxShared = 64 << 20

type shareKey struct{}

// share holds whole answers of one round.
type share struct {
	mu      sync.Mutex
	answers map[[sha256.Size]byte]answer
	bytes   int
}

type answer struct {
	resp http.Response
	body []byte
}

// Share returns a context under which a GET that was answered with 200 is not
// sent again: its answer is given once more. For looks that read the same pages
// and began before the first of them was fetched.
func Share(ctx context.Context) context.Context {
	return context.WithValue(ctx, shareKey{}, &share{answers: map[[sha256.Size]byte]answer{}})
}

// Sharing reports whether answers are shared under ctx: what is asked for one
// reference alone then costs a request that the others do without.
func Sharing(ctx context.Context) bool { return shareOf(ctx) != nil }

func shareOf(ctx context.Context) *share {
	s, _ := ctx.Value(shareKey{}).(*share)
	return s
}

// key covers everything that decides the answer: address and headers.
func (s *share) key(req *http.Request) [sha256.Size]byte {
	var b bytes.Buffer
	b.WriteString(req.URL.String())
	b.WriteByte('\n')
	_ = req.Header.Write(&b) // sorted; a buffer takes everything
	return sha256.Sum256(b.Bytes())
}

// known returns a kept answer.
func (s *share) known(req *http.Request) (*http.Response, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.answers[s.key(req)]
	if !ok {
		return nil, false
	}
	resp := a.resp
	resp.Header, resp.Request = a.resp.Header.Clone(), req
	resp.Body = io.NopCloser(bytes.NewReader(a.body))
	return &resp, true
}

// keep remembers the answer once its body was read to the end.
func (s *share) keep(req *http.Request, resp *http.Response) {
	if resp.StatusCode != http.StatusOK {
		return
	}
	resp.Body = &keptBody{ReadCloser: resp.Body, whole: func(body []byte) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.bytes+len(body) <= maxShared {
			s.bytes += len(body)
			s.answers[s.key(req)] = answer{*resp, body}
		}
	}}
}

// keptBody copies what is read of it.
type keptBody struct {
	io.ReadCloser
	read  []byte
	whole func([]byte)
}

func (b *keptBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read = append(b.read, p[:n]...)
	if err == io.EOF && b.whole != nil {
		b.whole(b.read)
		b.whole = nil
	}
	return n, err
}
