package fault

import (
	"bufio"
	"bytes"
	"testing"
)

// FuzzReadMessage: whatever comes, a message is read as it stands or not at all,
// and following the statements does not fall over it.
func FuzzReadMessage(f *testing.F) {
	f.Add([]byte("Q\x00\x00\x00\x0dselect 1\x00"))
	f.Add([]byte("P\x00\x00\x00\x12name\x00select 1\x00\x00\x00B\x00\x00\x00\x0b\x00name\x00\x00\x00"))
	f.Add([]byte("Z\x00\x00\x00\x05I"))
	f.Add([]byte("E\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bufio.NewReader(bytes.NewReader(in))
		s := statements{named: map[string]string{}}
		var buf []byte
		for at := 0; ; at += len(buf) {
			var err error
			if buf, err = readMessage(r, buf); err != nil {
				return
			}
			if !bytes.Equal(buf, in[at:at+len(buf)]) {
				t.Fatalf("read %q at %d of %q", buf, at, in)
			}
			s.note(buf)
		}
	})
}

func TestStatements_FollowPreparedOnes(t *testing.T) {
	t.Parallel()
	s := statements{named: map[string]string{}}
	for _, step := range []struct{ msg, want string }{
		{"P\x00\x00\x00\x00a\x00select 1\x00\x00\x00", "select 1"},
		{"P\x00\x00\x00\x00b\x00select 2\x00\x00\x00", "select 2"},
		{"B\x00\x00\x00\x00\x00a\x00", "select 1"},
		{"E\x00\x00\x00\x00", "select 1"},
		{"Q\x00\x00\x00\x00commit\x00", "commit"},
		{"B\x00\x00\x00\x00\x00b\x00", "select 2"},
	} {
		s.note([]byte(step.msg))
		if s.current != step.want {
			t.Errorf("after %q: %q, want %q", step.msg, s.current, step.want)
		}
	}
}
