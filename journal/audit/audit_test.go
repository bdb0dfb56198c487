package audit

import (
	"errors"
	"testing"
	"time"
)

func chain(t *testing.T, n int) []Row {
	t.Helper()
	var rows []Row
	var prev []byte
	for i := range n {
		r, err := Seal(prev, Entry{Seq: int64(i + 1), At: time.Unix(1700000000, 123456789), Kind: "decided", Actor: "operator:u1", EffectID: "e", Result: Done})
		if err != nil {
			t.Fatal(err)
		}
		rows, prev = append(rows, r), r.Hash
	}
	return rows
}

func TestVerify(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		spoil   func([]Row) []Row
		wantSeq int64
	}{
		{"untouched", func(r []Row) []Row { return r }, 0},
		{"changed body", func(r []Row) []Row { r[1].Body[10] ^= 1; return r }, 2},
		{"changed salt", func(r []Row) []Row { r[2].Salt[0] ^= 1; return r }, 3},
		{"missing row", func(r []Row) []Row { return append(r[:1], r[2:]...) }, 3},
		{"swapped rows", func(r []Row) []Row { r[0], r[1] = r[1], r[0]; return r }, 2},
		{"column differs", func(r []Row) []Row { r[1].Actor = "operator:u2"; return r }, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Verify(0, nil, tt.spoil(chain(t, 4)))
			var ve *VerifyError
			switch {
			case tt.wantSeq == 0 && err != nil:
				t.Fatalf("Verify: %v", err)
			case tt.wantSeq != 0 && (!errors.As(err, &ve) || ve.Seq != tt.wantSeq):
				t.Fatalf("Verify: got %v, want an error at row %d", err, tt.wantSeq)
			}
		})
	}
}
