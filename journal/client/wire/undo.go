package wire

import (
	"encoding/json"
	"time"

	"github.com/landedhq/landed/journal"
)

type undoableForm struct {
	EffectID       string          `json:"effect_id"`
	Tool           string          `json:"tool"`
	CompensatedBy  string          `json:"compensated_by"`
	Operation      string          `json:"operation"`
	Subject        string          `json:"subject,omitempty"`
	Amount         string          `json:"amount,omitempty"`
	Currency       string          `json:"currency,omitempty"`
	Args           json.RawMessage `json:"args,omitempty"`
	ArgsBase64     *string         `json:"args_base64,omitempty"`
	Result         json.RawMessage `json:"result,omitempty"`
	ResultBase64   *string         `json:"result_base64,omitempty"`
	ProviderID     string          `json:"provider_id,omitempty"`
	ProbablyDouble bool            `json:"probably_double,omitempty"`
	CompletedAt    time.Time       `json:"completed_at"`
	Undo           journal.State   `json:"undo,omitempty"`
	Compensation   string          `json:"compensation,omitempty"`
}

// EncodeUndoPage writes what is left to undo of a run.
func EncodeUndoPage(p journal.UndoPage) ([]byte, error) {
	list := []byte{'['}
	for i, u := range p.Effects {
		if i > 0 {
			list = append(list, ',')
		}
		row, err := encode(undoableForm{EffectID: u.EffectID, Tool: u.Tool, CompensatedBy: u.CompensatedBy, Operation: u.Operation, Subject: u.Subject,
			Amount: u.Amount, Currency: u.Currency, ProviderID: u.ProviderID, ProbablyDouble: u.ProbablyDouble, CompletedAt: u.CompletedAt,
			Undo: u.Undo, Compensation: u.Compensation}, rawMember{"args", u.Args}, rawMember{"result", u.Result})
		if err != nil {
			return nil, err
		}
		list = append(list, row...)
	}
	return encode(struct {
		Next string `json:"next,omitempty"`
	}{p.Next}, rawMember{"effects", append(list, ']')})
}

// DecodeUndoPage reads what is left to undo of a run.
func DecodeUndoPage(body []byte) (journal.UndoPage, error) {
	var f struct {
		Effects []undoableForm `json:"effects"`
		Next    string         `json:"next"`
	}
	if err := json.Unmarshal(body, &f); err != nil {
		return journal.UndoPage{}, err
	}
	p := journal.UndoPage{Next: f.Next}
	for _, r := range f.Effects {
		u := journal.Undoable{EffectID: r.EffectID, Tool: r.Tool, CompensatedBy: r.CompensatedBy, Operation: r.Operation, Subject: r.Subject,
			Amount: r.Amount, Currency: r.Currency, ProviderID: r.ProviderID, ProbablyDouble: r.ProbablyDouble, CompletedAt: r.CompletedAt,
			Undo: r.Undo, Compensation: r.Compensation}
		var err error
		if u.Args, err = take("args", r.Args, r.ArgsBase64); err != nil {
			return p, err
		}
		if u.Result, err = take("result", r.Result, r.ResultBase64); err != nil {
			return p, err
		}
		p.Effects = append(p.Effects, u)
	}
	return p, nil
}
