package definition

import (
	"encoding/json"
	"errors"
	"strings"
)

// RedactPath is a place in an answer that is never kept: segments, where * is
// any one key or index and ** any number of them.
type RedactPath []string

// ParseRedact reads a place like issues.*.description or **.email.
func ParseRedact(s string) (RedactPath, error) {
	segs := strings.Split(s, ".")
	for _, seg := range segs {
		if seg == "" {
			return nil, errors.New("a path is written like issues.*.description or **.email")
		}
	}
	return segs, nil
}

const hidden = "[not kept]"

// Redacted gives the body without what must not be kept.
func Redacted(paths []RedactPath, body any) string {
	b, err := json.Marshal(hide(paths, body))
	if err != nil {
		return "(not kept: it can't be written as JSON)"
	}
	return string(b)
}

// hide copies x without what the paths, relative to x, lead to.
func hide(paths []RedactPath, x any) any {
	if len(paths) == 0 {
		return x
	}
	step := func(key string, v any) any {
		rest, gone := descend(paths, key)
		if gone {
			return hidden
		}
		return hide(rest, v)
	}
	switch x := x.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, v := range x {
			out[k] = step(k, v)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, v := range x {
			out[i] = step("", v)
		}
		return out
	}
	return x
}

// descend gives the paths that go on below key; gone says that one ends there.
// In a list, key is empty and only * and ** fit.
func descend(paths []RedactPath, key string) (rest []RedactPath, gone bool) {
	for _, p := range paths {
		if p[0] == "**" {
			rest = append(rest, p)
			if len(p) > 1 {
				p = p[1:]
			}
		}
		if p[0] == "**" || p[0] != "*" && (key == "" || !strings.EqualFold(p[0], key)) {
			continue
		}
		if len(p) == 1 {
			return nil, true
		}
		rest = append(rest, p[1:])
	}
	return rest, false
}
