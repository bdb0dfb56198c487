package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// The directives. Each must be followed by a reason.
const (
	prefix        = "//landed:"
	unjournaled   = "unjournaled" // an effect is caused, or repeated, without the journal
	keyIsFine     = "key"         // a key is as it should be
	directiveHint = "Write //landed:unjournaled or //landed:key, followed by the reason, above the line or in the function's comment"
)

// directive is a comment that silences findings on its own line and the next one
// with code, or in the whole function that it documents.
type directive struct {
	pos          token.Pos
	verb, reason string
	lo, hi       int // lines
	file         *token.File
	used         bool
}

// silences are the categories of a verb.
func silences(verb string) []category {
	switch verb {
	case unjournaled:
		return []category{catUnjournaled, catRepeated}
	case keyIsFine:
		return []category{catRetried, catFresh, catArgs, catCallID, catPersonal, catArgKey}
	}
	return nil
}

func (u *unit) readDirectives(f *ast.File) {
	docs := map[*ast.CommentGroup]*ast.FuncDecl{}
	for _, d := range f.Decls {
		if fd, ok := d.(*ast.FuncDecl); ok && fd.Doc != nil {
			docs[fd.Doc] = fd
		}
	}
	for _, g := range f.Comments {
		for _, c := range g.List {
			text, ok := strings.CutPrefix(c.Text, prefix)
			if !ok {
				continue
			}
			verb, reason, _ := strings.Cut(text, " ")
			reason, _, _ = strings.Cut(reason, "// ") // a comment behind it is no reason
			d := &directive{
				pos: c.Pos(), verb: verb, reason: strings.TrimSpace(reason), file: u.Fset.File(c.Pos()),
				lo: u.line(c.Pos()), hi: u.line(g.End()) + 1,
			}
			if fd := docs[g]; fd != nil {
				d.hi = u.line(fd.End())
			}
			u.directives = append(u.directives, d)
		}
	}
}

// silenced reports whether a directive with a reason covers a position, and notes
// that it was needed.
func (u *unit) silenced(c category, at token.Pos) bool {
	found := false
	for _, d := range u.directives {
		if d.file != u.Fset.File(at) || !slices.Contains(silences(d.verb), c) {
			continue
		}
		if line := u.line(at); d.lo <= line && line <= d.hi {
			d.used = true
			found = found || d.reason != ""
		}
	}
	return found
}

// checkDirectives reports the directives that are not what they should be: a reason
// is for whoever reads it next, and one that silences nothing hides the next finding.
func (u *unit) checkDirectives() {
	for _, d := range u.directives {
		wrong := ""
		switch {
		case silences(d.verb) == nil:
			wrong = fmt.Sprintf("there is no directive %s%s", prefix, d.verb)
		case d.reason == "":
			wrong = fmt.Sprintf("%s%s gives no reason", prefix, d.verb)
		case !d.used && u.allOn(d.verb):
			wrong = fmt.Sprintf("%s%s silences nothing", prefix, d.verb)
		}
		if wrong == "" || u.generated(d.pos) {
			continue
		}
		instead := directiveHint
		if strings.HasSuffix(wrong, "nothing") {
			instead = "Remove it"
		}
		u.Report(analysis.Diagnostic{Pos: d.pos, Category: "directive", Message: wrong + ". " + instead + "."})
	}
}

// allOn reports whether everything that a verb silences was looked for.
func (u *unit) allOn(verb string) bool {
	for _, c := range silences(verb) {
		if !*u.on[c] {
			return false
		}
	}
	return true
}
