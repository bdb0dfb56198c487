package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/landedhq/landed/journal"
)

// functions are what a definition has beyond CEL's own:
//
//	dashed(ref)             the reference as a UUID
//	unix(t), unix_ms(t)     seconds, milliseconds since 1970
//	rfc3339(t)              2006-01-02T15:04:05Z
//	rfc2822(t)              Mon, 02 Jan 2006 15:04:05 -0000
//	day(t)                  2006-01-02, UTC
//	local(t, zone, layout)  in a time zone, by a layout of Go's package time
//	at(x)                   a time from what providers write: RFC 3339, RFC 2822,
//	                        "2006-01-02 15:04:05" (UTC), seconds since 1970
//	marks(text, from, to)   what stands between each from and the next to
//	parse(text)             JSON in a text
func functions() []cel.EnvOption {
	str, ts := cel.StringType, cel.TimestampType
	one := func(name string, in, out *cel.Type, f func(ref.Val) ref.Val) cel.EnvOption {
		return cel.Function(name, cel.Overload(name+"_1", []*cel.Type{in}, out, cel.UnaryBinding(f)))
	}
	three := func(name string, in []*cel.Type, out *cel.Type, f func(...ref.Val) ref.Val) cel.EnvOption {
		return cel.Function(name, cel.Overload(name+"_3", in, out, cel.FunctionBinding(f)))
	}
	clock := func(name string, f func(time.Time) ref.Val, out *cel.Type) cel.EnvOption {
		return one(name, ts, out, func(v ref.Val) ref.Val {
			t, ok := v.Value().(time.Time)
			if !ok {
				return types.NewErr("%s: not a time", name)
			}
			return f(t.UTC())
		})
	}
	layout := func(l string) func(time.Time) ref.Val {
		return func(t time.Time) ref.Val { return types.String(t.Format(l)) }
	}
	return []cel.EnvOption{
		one("dashed", str, str, func(v ref.Val) ref.Val { return types.String(journal.Dashed(fmt.Sprint(v.Value()))) }),
		clock("unix", func(t time.Time) ref.Val { return types.Int(t.Unix()) }, cel.IntType),
		clock("unix_ms", func(t time.Time) ref.Val { return types.Int(t.UnixMilli()) }, cel.IntType),
		clock("rfc3339", layout(time.RFC3339), str),
		clock("rfc2822", layout(time.RFC1123Z), str),
		clock("day", layout(time.DateOnly), str),
		three("local", []*cel.Type{ts, str, str}, str, localTime),
		one("at", cel.DynType, ts, parseTime),
		three("marks", []*cel.Type{str, str, str}, cel.ListType(str), marks),
		one("parse", str, cel.DynType, parseJSON),
	}
}

func localTime(args ...ref.Val) ref.Val {
	t, ok := args[0].Value().(time.Time)
	loc, err := time.LoadLocation(fmt.Sprint(args[1].Value()))
	if !ok || err != nil {
		return types.NewErr("local: %v is no time zone", args[1].Value())
	}
	return types.String(t.In(loc).Format(fmt.Sprint(args[2].Value())))
}

// parseTime reads the forms in which providers write a time.
func parseTime(v ref.Val) ref.Val {
	switch x := v.(type) {
	case types.Timestamp:
		return x
	case types.Int:
		return fromSeconds(float64(x))
	case types.Double:
		return fromSeconds(float64(x))
	case types.String:
		s := strings.TrimSpace(string(x))
		for _, l := range []string{time.RFC3339Nano, time.RFC1123Z, time.RFC1123, "Mon, 2 Jan 2006 15:04:05 -0700",
			time.DateTime, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04:05.999-0700", "2006-01-02T15:04:05-0700"} {
			if t, err := time.Parse(l, s); err == nil {
				return types.Timestamp{Time: t.UTC()}
			}
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return fromSeconds(f)
		}
	}
	return types.NewErr("at: %.60q is no time", fmt.Sprint(v.Value()))
}

func fromSeconds(f float64) ref.Val {
	if f < 0 || f > 1e11 || math.IsNaN(f) {
		return types.NewErr("at: %v is no time in seconds", f)
	}
	sec := math.Floor(f)
	return types.Timestamp{Time: time.Unix(int64(sec), int64((f-sec)*1e9)).UTC()}
}

// marks finds what stands between each from and the next to. What is not closed
// is no mark.
func marks(args ...ref.Val) ref.Val {
	text, from, to := fmt.Sprint(args[0].Value()), fmt.Sprint(args[1].Value()), fmt.Sprint(args[2].Value())
	if from == "" || to == "" {
		return types.NewErr("marks: both ends must be given")
	}
	out := []string{}
	for len(out) < 100 {
		_, rest, ok := strings.Cut(text, from)
		if !ok {
			break
		}
		inner, after, ok := strings.Cut(rest, to)
		if !ok {
			break
		}
		out, text = append(out, inner), after
	}
	return types.DefaultTypeAdapter.NativeToValue(out)
}

func parseJSON(v ref.Val) ref.Val {
	x, err := DecodeJSON([]byte(fmt.Sprint(v.Value())))
	if err != nil {
		return types.NewErr("parse: %v", err)
	}
	return types.DefaultTypeAdapter.NativeToValue(x)
}

// DecodeJSON reads one JSON value. Whole numbers stay whole: an id of 19 digits
// must not lose its end.
func DecodeJSON(b []byte) (any, error) {
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	var x any
	if err := d.Decode(&x); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("something follows the JSON value")
	}
	return plain(x, 0)
}

const maxDepth = 64

// plain replaces json.Number, which CEL doesn't know.
func plain(x any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errors.New("the JSON is nested too deeply")
	}
	var err error
	switch v := x.(type) {
	case map[string]any:
		for k := range v {
			if v[k], err = plain(v[k], depth+1); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range v {
			if v[i], err = plain(v[i], depth+1); err != nil {
				return nil, err
			}
		}
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n, nil
		}
		return v.Float64()
	}
	return x, nil
}

// scalar words one value as text.
func scalar(v ref.Val) (string, error) {
	switch x := v.(type) {
	case types.Null:
		return "", nil
	case types.String:
		return string(x), nil
	case types.Int, types.Uint, types.Bool:
		return fmt.Sprint(x.Value()), nil
	case types.Double:
		return strconv.FormatFloat(float64(x), 'f', -1, 64), nil
	case types.Timestamp:
		return x.Time.UTC().Format(time.RFC3339), nil
	case *types.Optional:
		if !x.HasValue() {
			return "", nil
		}
		return scalar(x.GetValue())
	}
	return "", fmt.Errorf("gives %s, want text or a number", v.Type().TypeName())
}
