// Package audit owns the form of the audit trail: which bytes a row consists of
// and how a row is sealed. journal/postgres stores the rows, in the transaction
// of the decision or resolution that they record; without its audit row there
// is no decision.
//
// A row's body is canonical JSON, kept byte for byte. Its hash covers the hash
// of the row before, a random salt and the body, so that a changed, missing or
// reordered row shows when the rows are read again in order. Rows are numbered
// without gaps from 1. The salt lets a body be withheld later without its hash
// giving the content away.
package audit

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// Entry is what a row says. Fields that do not apply are left out of the body.
type Entry struct {
	Seq       int64             `json:"seq"`
	At        time.Time         `json:"at"`
	Kind      string            `json:"kind"`
	EffectID  string            `json:"effect_id,omitempty"`
	Version   int64             `json:"effect_version,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	KeyHash   string            `json:"key_sha256,omitempty"`
	Tool      string            `json:"tool,omitempty"`
	State     string            `json:"state,omitempty"`
	Was       string            `json:"was,omitempty"`
	Actor     string            `json:"actor"`
	Issuer    string            `json:"issuer,omitempty"`
	Name      string            `json:"name,omitempty"`
	Source    string            `json:"source,omitempty"`
	Code      string            `json:"reason_code,omitempty"`
	Reason    string            `json:"reason,omitempty"`
	Evidence  string            `json:"evidence_digest,omitempty"`
	Policy    string            `json:"policy,omitempty"`
	Result    string            `json:"result"` // "done" or "refused"
	Detail    map[string]string `json:"detail,omitempty"`
}

// Row is a sealed entry.
type Row struct {
	Seq      int64
	At       time.Time
	Kind     string
	EffectID string
	Actor    string
	Salt     []byte
	Body     []byte
	Hash     []byte
}

// Results of an audited act.
const (
	Done    = "done"
	Refused = "refused"
)

// Seal makes the row that follows a row with hash prev (empty for row 1).
func Seal(prev []byte, e Entry) (Row, error) {
	e.At = e.At.UTC().Truncate(time.Microsecond)
	body, err := json.Marshal(e)
	if err != nil {
		return Row{}, fmt.Errorf("sealing audit row %d: %w", e.Seq, err)
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt)
	return Row{Seq: e.Seq, At: e.At, Kind: e.Kind, EffectID: e.EffectID, Actor: e.Actor,
		Salt: salt, Body: body, Hash: hash(prev, salt, body)}, nil
}

func hash(prev, salt, body []byte) []byte {
	h := sha256.New()
	h.Write([]byte("landed/audit/1\x00"))
	h.Write(prev)
	h.Write(salt)
	h.Write(body)
	return h.Sum(nil)
}

// Parse reads a row's body.
func (r Row) Parse() (Entry, error) {
	var e Entry
	if err := json.Unmarshal(r.Body, &e); err != nil {
		return Entry{}, fmt.Errorf("reading audit row %d: %w", r.Seq, err)
	}
	return e, nil
}

// VerifyError names the first row that does not hold.
type VerifyError struct {
	Seq  int64
	What string
}

func (e *VerifyError) Error() string { return fmt.Sprintf("audit row %d: %s", e.Seq, e.What) }

// Verify checks rows that follow one another, the first after a row with hash
// prev and number after. It returns the hash of the last one.
func Verify(after int64, prev []byte, rows []Row) ([]byte, error) {
	for _, r := range rows {
		if r.Seq != after+1 {
			return prev, &VerifyError{Seq: r.Seq, What: fmt.Sprintf("follows row %d: a row is missing", after)}
		}
		if !bytes.Equal(r.Hash, hash(prev, r.Salt, r.Body)) {
			return prev, &VerifyError{Seq: r.Seq, What: "its hash does not match: the row or one before it was changed"}
		}
		e, err := r.Parse()
		if err != nil {
			return prev, &VerifyError{Seq: r.Seq, What: err.Error()}
		}
		if e.Seq != r.Seq || e.Kind != r.Kind || e.Actor != r.Actor || e.EffectID != r.EffectID {
			return prev, &VerifyError{Seq: r.Seq, What: "its columns differ from its body"}
		}
		after, prev = r.Seq, r.Hash
	}
	return prev, nil
}
