package vet

import (
	"go/ast"
	"go/types"
	"strings"
)

// call follows a call: what makes something new is an origin, what gives back its
// arguments in another form is followed into them, and a function with a summary
// says itself what its results are made of. Of any other call nothing is known.
func (t *tracer) call(e *ast.CallExpr, result int) {
	info := t.u.TypesInfo
	if tv, ok := info.Types[e.Fun]; ok && tv.IsType() {
		if len(e.Args) == 1 {
			t.expr(e.Args[0], 0)
		}
		return
	}
	f := t.u.callee(e)
	if f == nil {
		t.builtin(e)
		return
	}
	path := pkgPath(f)
	switch {
	case t.u.freshness(f) != "":
		if fed := t.fed(e, f); fed != nil {
			t.expr(fed, 0)
			return
		}
		t.add(origin{kind: isFresh, pos: e.Pos(), what: display(f) + ", " + t.u.freshness(f)})
	case path == "time":
		t.ofTime(e, f)
	case path == journalPath && f.Name() == "DeriveKey":
		t.arguments(e, func(o *origin) { o.part = true })
	case passes(path), t.u.library.MatchString(path):
		hash := digests(path) && receiver(f) == nil && len(e.Args) > 0 || f.Name() == "Sum" || strings.HasPrefix(f.Name(), "Sum")
		t.receiver(e, hash)
		t.arguments(e, func(o *origin) {
			o.made, o.hash = true, o.hash || hash
			o.part = o.part || path == "fmt" || path == "strings"
		})
	default:
		t.summarised(e, f, result)
	}
}

// fed returns the bytes or the reader that an identifier is made of, if it is not
// the library's own source: uuid.NewRandomFromReader(r), uuid.Must(x).
func (t *tracer) fed(e *ast.CallExpr, f *types.Func) ast.Expr {
	if strings.Contains(f.Name(), "FromReader") && len(e.Args) == 1 {
		return e.Args[0]
	}
	return nil
}

func (t *tracer) arguments(e *ast.CallExpr, change func(*origin)) {
	for _, a := range e.Args {
		t.in(change, a)
	}
}

func (t *tracer) receiver(e *ast.CallExpr, hash bool) {
	if s, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr); ok && t.u.TypesInfo.Selections[s] != nil {
		t.in(func(o *origin) { o.made, o.hash = o.made || hash, o.hash || hash }, s.X)
	}
}

func (t *tracer) builtin(e *ast.CallExpr) {
	id, ok := ast.Unparen(e.Fun).(*ast.Ident)
	if !ok {
		return
	}
	if _, ok := t.u.TypesInfo.Uses[id].(*types.Builtin); !ok {
		return
	}
	switch id.Name {
	case "append", "min", "max":
		t.arguments(e, func(*origin) {})
	}
}

// ofTime follows a moment. What names a day or a longer period is as lasting as the
// period: a report's date may be part of a key.
func (t *tracer) ofTime(e *ast.CallExpr, f *types.Func) {
	if receiver(f) == nil {
		switch f.Name() {
		case "Date", "Unix", "UnixMilli", "UnixMicro", "Parse", "ParseInLocation":
			t.arguments(e, func(*origin) {})
		}
		return
	}
	switch f.Name() {
	case "Truncate", "Round", "Year", "Month", "Day", "YearDay", "ISOWeek", "Date", "Weekday", "IsZero":
		return
	case "Format", "AppendFormat":
		if layout, ok := constantOf(t.u.TypesInfo, e.Args[len(e.Args)-1]); ok && !hasTimeOfDay(layout) {
			return
		}
	}
	t.receiver(e, false)
}

// hasTimeOfDay reports whether a layout of package time shows more than the date.
func hasTimeOfDay(layout string) bool {
	rest := strings.NewReplacer("2006", "", "January", "", "Jan", "", "Monday", "", "Mon", "", "002", "", "01", "", "02", "", "_2", "").Replace(layout)
	return strings.ContainsAny(rest, "345") || strings.Contains(rest, "PM")
}

// summarised follows a call by what is known of the function's results.
func (t *tracer) summarised(e *ast.CallExpr, f *types.Func, result int) {
	s := t.u.summary(f)
	if s == nil {
		if len(e.Args) == 0 && stringer(f.Name()) {
			t.receiver(e, false)
		}
		if f.Name() == "Attempt" && below(pkgPath(f), workerPath) {
			t.add(origin{kind: attempt, pos: e.Pos(), what: display(f)})
		}
		return
	}
	if len(s.Results) == 0 && len(e.Args) == 0 && stringer(f.Name()) {
		t.receiver(e, false)
	}
	for _, r := range s.Results {
		if r.Result != result {
			continue
		}
		if r.Param < 0 {
			t.add(origin{kind: kind(r.Kind), pos: e.Pos(), what: display(f) + " (" + r.What + ")", made: r.Made, hash: r.Hash})
			continue
		}
		if r.Param >= len(e.Args) {
			continue
		}
		t.passed(e.Args[r.Param], r)
	}
}

// passed follows the argument that a result is made of.
func (t *tracer) passed(arg ast.Expr, r Result) {
	change := func(o *origin) { o.made, o.hash, o.part = o.made || r.Made, o.hash || r.Hash, o.part || r.Part }
	if r.Path == "" {
		t.in(change, arg)
		return
	}
	if root, path := t.u.place(arg); root != nil {
		was := t.now
		change(&t.now)
		name := r.Path[strings.LastIndexAny(r.Path, ".[")+1:]
		t.add(origin{kind: isPlace, pos: arg.Pos(), root: root, path: path + r.Path, what: name})
		if t.u.local(root) {
			t.fieldsOf(root, path+r.Path)
		}
		t.now = was
	}
}

// stringer reports whether a method gives its receiver in another form.
func stringer(name string) bool {
	switch name {
	case "String", "Bytes", "Hex", "Text", "MarshalText", "MarshalBinary", "Base32", "Base58", "Base64", "Int64", "Uint64", "Value", "URN":
		return true
	}
	return false
}
