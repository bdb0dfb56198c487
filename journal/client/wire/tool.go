package wire

import (
	"encoding/json"

	"github.com/landedhq/landed/journal"
)

type toolForm struct {
	Class          string          `json:"class"`
	Provider       string          `json:"provider,omitempty"`
	KeyWindow      span            `json:"key_window,omitzero"`
	ClientTimeout  span            `json:"client_timeout,omitzero"`
	IdentityFields []string        `json:"identity_fields,omitempty"`
	ArgsSchema     json.RawMessage `json:"args_schema,omitempty"`
	SchemaBase64   *string         `json:"args_schema_base64,omitempty"`
	DisplayFields  []string        `json:"display_fields,omitempty"`
	CompensatedBy  string          `json:"compensated_by,omitempty"`
	CompensateRun  bool            `json:"compensate_run,omitempty"`
}

// EncodeTool writes a tool without its name, which is in the address.
func EncodeTool(t journal.Tool) ([]byte, error) {
	return encode(toolForm{Class: string(t.Class), Provider: t.Provider, KeyWindow: span{d: t.KeyWindow}, ClientTimeout: span{d: t.ClientTimeout},
		IdentityFields: t.IdentityFields, DisplayFields: t.DisplayFields, CompensatedBy: t.CompensatedBy, CompensateRun: t.CompensateRun}, rawMember{"args_schema", t.ArgsSchema})
}

// DecodeTool reads a tool; its values are the journal's to judge.
func DecodeTool(name string, body []byte) (journal.Tool, error) {
	var f toolForm
	if err := readStrict(body, &f, beforeEffect); err != nil {
		return journal.Tool{}, err
	}
	t := journal.Tool{Name: name, Class: journal.Class(f.Class), Provider: f.Provider, IdentityFields: f.IdentityFields, DisplayFields: f.DisplayFields,
		CompensatedBy: f.CompensatedBy, CompensateRun: f.CompensateRun}
	var err error
	if t.KeyWindow, err = f.KeyWindow.get("key_window"); err != nil {
		return t, err
	}
	if t.ClientTimeout, err = f.ClientTimeout.get("client_timeout"); err != nil {
		return t, err
	}
	t.ArgsSchema, err = take("args_schema", f.ArgsSchema, f.SchemaBase64)
	return t, err
}
