package temporal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"
)

// codec writes arguments and results as the journal keeps them: plain JSON where
// they are plain JSON, else Temporal's payload with its metadata, as JSON.
type codec struct{ converter converter.DataConverter }

func (i *Interceptor) codec() codec { return codec{i.cfg.Converter} }

// plain is the encoding of the SDK's JSON converter.
const plain = "json/plain"

// wrapped marks a payload that is not plain JSON.
type wrapped struct {
	Payload json.RawMessage `json:"temporal_payload"`
}

// args writes arguments: one object as itself, so that the tool's identity fields
// are its members, anything else as a list.
func (c codec) args(args []any) ([]byte, error) {
	all := make([]json.RawMessage, 0, len(args))
	for _, a := range args {
		b, err := c.write(a)
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	if len(all) == 1 && bytes.HasPrefix(bytes.TrimSpace(all[0]), []byte("{")) {
		return all[0], nil
	}
	return json.Marshal(all)
}

// read reads journaled arguments into new values of the types that like has.
func (c codec) read(raw []byte, like []any) ([]any, error) {
	all := []json.RawMessage{raw}
	if len(like) != 1 || !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		all = nil
		if err := json.Unmarshal(raw, &all); err != nil {
			return nil, err
		}
	}
	if len(all) != len(like) {
		return nil, fmt.Errorf("%d are journaled and the activity takes %d", len(all), len(like))
	}
	out := make([]any, 0, len(all))
	for n, b := range all {
		if like[n] == nil {
			out = append(out, nil)
			continue
		}
		p, err := payload(b)
		if err != nil {
			return nil, err
		}
		v := reflect.New(reflect.TypeOf(like[n]))
		if err := c.converter.FromPayload(p, v.Interface()); err != nil {
			return nil, fmt.Errorf("argument %d: %w", n+1, err)
		}
		out = append(out, v.Elem().Interface())
	}
	return out, nil
}

// write writes one value.
func (c codec) write(v any) ([]byte, error) {
	p, err := c.converter.ToPayload(v)
	if err != nil {
		return nil, err
	}
	if p == nil || v == nil {
		return []byte("null"), nil
	}
	if string(p.GetMetadata()[converter.MetadataEncoding]) == plain && len(p.GetMetadata()) == 1 && utf8.Valid(p.GetData()) && !isWrapped(p.GetData()) {
		return p.GetData(), nil
	}
	b, err := protojson.Marshal(p)
	if err != nil {
		return nil, err
	}
	return json.Marshal(wrapped{b})
}

// result reads what write wrote, as a value that the SDK encodes to the same
// payload: the workflow's type is not known here.
func (c codec) result(raw []byte) (any, error) {
	if string(raw) == "null" {
		return nil, nil
	}
	p, err := payload(raw)
	if err != nil {
		return nil, err
	}
	return converter.NewRawValue(p), nil
}

func payload(raw []byte) (*commonpb.Payload, error) {
	if isWrapped(raw) {
		var w wrapped
		if err := json.Unmarshal(raw, &w); err != nil {
			return nil, err
		}
		p := &commonpb.Payload{}
		return p, protojson.Unmarshal(w.Payload, p)
	}
	if !json.Valid(raw) {
		return nil, fmt.Errorf("%.40q is not JSON", raw)
	}
	return &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(plain)}, Data: raw}, nil
}

// isWrapped is whether an object has the one member that marks a payload.
func isWrapped(raw []byte) bool {
	var w map[string]json.RawMessage
	if json.Unmarshal(raw, &w) != nil {
		return false
	}
	_, ok := w["temporal_payload"]
	return ok && len(w) == 1
}
