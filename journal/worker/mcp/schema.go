package landedmcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/landedhq/landed/journal/worker"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// showTools shows clients the journaled tools as they are to be called: without
// the arguments that are filled in here, and with an output schema that also
// allows the journal's answers. Clients check structured content against it,
// and one that doesn't fit becomes an error for the model, whatever it says
// (Client.callTool of https://github.com/modelcontextprotocol/typescript-sdk).
func (f *Front) showTools(list *mcp.ListToolsResult) {
	for i, found := range list.Tools {
		t := f.tools[found.Name]
		if t == nil {
			continue
		}
		shown := *found // the server's own is shared
		if raw, err := json.Marshal(found.InputSchema); err == nil {
			if raw, err = withoutProperties(raw, t.RefInto, t.KeyInto); err == nil && (t.RefInto != "" || t.KeyInto != "") {
				shown.InputSchema = json.RawMessage(raw)
			}
		}
		if found.OutputSchema != nil {
			shown.OutputSchema = widened(found.OutputSchema)
		}
		list.Tools[i] = &shown
	}
}

// answerSchema describes the structured content of an answer.
func answerSchema() map[string]any {
	statuses := []worker.Status{
		worker.StatusDone, worker.StatusInProgress, worker.StatusUnknown, worker.StatusRefused,
		worker.StatusReplan, worker.StatusHardStop, worker.StatusAbandoned,
	}
	return map[string]any{
		"type":        "object",
		"description": "Instead of the tool's own output: what is known of the call. Only done means that it happened; unknown must not be repeated.",
		"required":    []string{answerMember},
		"properties": map[string]any{answerMember: map[string]any{
			"type":       "object",
			"required":   []string{"status", "note"},
			"properties": map[string]any{"status": map[string]any{"enum": statuses}, "note": map[string]any{"type": "string"}},
		}},
	}
}

// widened is an output schema that allows the tool's output or an answer. Local
// definitions move up, where references to them are looked for. A schema that
// refers to other parts of itself can't be moved: nil then leaves the output
// undescribed.
func widened(schema any) any {
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil
	}
	var own map[string]json.RawMessage
	if json.Unmarshal(raw, &own) != nil || own == nil || !movable(raw) {
		return nil
	}
	out := map[string]any{}
	for _, name := range []string{"$schema", "$id", "$defs", "definitions"} {
		if v, ok := own[name]; ok {
			out[name] = v
			delete(own, name)
		}
	}
	if string(own["type"]) == `"object"` {
		out["type"] = "object" // what clients before revision 2026-07-28 ask for
	}
	out["anyOf"] = []any{own, answerSchema()}
	return out
}

// movable reports whether every reference is to a definition.
func movable(raw []byte) bool {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return false
	}
	return refsAre(v, func(ref string) bool {
		return strings.HasPrefix(ref, "#/$defs/") || strings.HasPrefix(ref, "#/definitions/")
	})
}

func refsAre(v any, fine func(string) bool) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, part := range v {
			ref, isText := part.(string)
			switch {
			case isText && (name == "$ref" || name == "$dynamicRef") && !fine(ref):
				return false
			case !refsAre(part, fine):
				return false
			}
		}
	case []any:
		for _, part := range v {
			if !refsAre(part, fine) {
				return false
			}
		}
	}
	return true
}

// withoutProperties takes properties out of an object schema.
func withoutProperties(raw []byte, hide ...string) ([]byte, error) {
	hide = slices.DeleteFunc(slices.Clone(hide), func(s string) bool { return s == "" })
	if len(hide) == 0 {
		return raw, nil
	}
	var schema, properties map[string]json.RawMessage
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, fmt.Errorf("reading an input schema: %w", err)
	}
	if json.Unmarshal(schema["properties"], &properties) == nil {
		for _, name := range hide {
			delete(properties, name)
		}
		schema["properties"], _ = json.Marshal(properties)
	}
	var required []string
	if json.Unmarshal(schema["required"], &required) == nil {
		required = slices.DeleteFunc(required, func(s string) bool { return slices.Contains(hide, s) })
		schema["required"], _ = json.Marshal(required)
	}
	return json.Marshal(schema)
}

// member is one argument.
type member struct{ name, value string }

// withMembers sets arguments; those without a name are left out.
func withMembers(args []byte, set ...member) ([]byte, error) {
	set = slices.DeleteFunc(slices.Clone(set), func(m member) bool { return m.name == "" })
	if len(set) == 0 {
		return args, nil
	}
	return changeMembers(args, func(all map[string]json.RawMessage) {
		for _, m := range set {
			all[m.name], _ = json.Marshal(m.value)
		}
	})
}

// withoutMembers drops arguments that are not the client's to give.
func withoutMembers(args []byte, drop ...string) ([]byte, error) {
	var given map[string]json.RawMessage
	if json.Unmarshal(args, &given) != nil {
		return args, nil // the schema says so, or the tool
	}
	for _, name := range drop {
		if _, ok := given[name]; ok && name != "" {
			return changeMembers(args, func(all map[string]json.RawMessage) {
				for _, name := range drop {
					delete(all, name)
				}
			})
		}
	}
	return args, nil
}

func changeMembers(args []byte, change func(map[string]json.RawMessage)) ([]byte, error) {
	all := map[string]json.RawMessage{}
	if len(args) > 0 {
		if err := json.Unmarshal(args, &all); err != nil || all == nil {
			return nil, fmt.Errorf("the arguments are not a JSON object: %v", err)
		}
	}
	change(all)
	return json.Marshal(all)
}
