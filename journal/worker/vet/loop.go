package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// loopsOf finds the loops of a function that retry.
func (u *unit) loopsOf(f *fn) {
	inspectOwn(f.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			if u.countsAttempts(n) || u.failing(n.Cond) || u.endsOnSuccess(n.Body) {
				u.loop(n, n.Body)
			}
		case *ast.RangeStmt:
			if u.mayRetry(n) && (u.countsAttempts(n) || u.endsOnSuccess(n.Body)) {
				u.loop(n, n.Body)
			}
		}
		return true
	})
}

func (u *unit) loop(n ast.Node, body *ast.BlockStmt) {
	u.regions = append(u.regions, region{lo: body.Lbrace, hi: body.Rbrace, why: fmt.Sprintf("the loop at line %d retries", u.line(n.Pos()))})
}

// inspectOwn walks a body without the function literals in it.
func inspectOwn(n ast.Node, visit func(ast.Node) bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		return n == nil || visit(n)
	})
}

// mayRetry: ranging over a collection does something with each of its elements. A
// number, a list of pauses and an iterator that waits are ranged over to try again.
func (u *unit) mayRetry(n *ast.RangeStmt) bool {
	t := u.TypesInfo.TypeOf(n.X)
	if t == nil {
		return false
	}
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Info()&types.IsInteger != 0
	case *types.Slice:
		return is(t.Elem(), "time", "Duration")
	case *types.Array:
		return is(t.Elem(), "time", "Duration")
	case *types.Signature:
		call, ok := ast.Unparen(n.X).(*ast.CallExpr)
		if !ok {
			return false
		}
		f := u.callee(call)
		return f != nil && (u.retry.MatchString(f.Name()) || u.retry.MatchString(lastElement(pkgPath(f))))
	}
	return false
}

// countsAttempts reports whether a loop's own variables are named after attempts.
func (u *unit) countsAttempts(n ast.Node) bool {
	var heads []ast.Node
	switch n := n.(type) {
	case *ast.ForStmt:
		if n.Init != nil {
			heads = append(heads, n.Init)
		}
		if n.Cond != nil {
			heads = append(heads, n.Cond)
		}
		if n.Post != nil {
			heads = append(heads, n.Post)
		}
	case *ast.RangeStmt:
		if n.Key != nil {
			heads = append(heads, n.Key)
		}
	}
	found := false
	for _, h := range heads {
		ast.Inspect(h, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && isAttempt(id.Name) {
				found = true
			}
			return !found
		})
	}
	return found
}

// failing reports whether a condition asks for an error: `err != nil`.
func (u *unit) failing(cond ast.Expr) bool { return u.compares(cond, token.NEQ) }

// compares reports whether an expression, or one side of its && and ||, compares an
// error with nil.
func (u *unit) compares(e ast.Expr, op token.Token) bool {
	b, ok := ast.Unparen(orNil(e)).(*ast.BinaryExpr)
	if !ok {
		return false
	}
	if b.Op == token.LAND || b.Op == token.LOR {
		return u.compares(b.X, op) || u.compares(b.Y, op)
	}
	if b.Op != op {
		return false
	}
	nilY, nilX := u.TypesInfo.Types[b.Y].IsNil(), u.TypesInfo.Types[b.X].IsNil()
	return nilY && isError(u.TypesInfo.TypeOf(b.X)) || nilX && isError(u.TypesInfo.TypeOf(b.Y))
}

// endsOnSuccess reports whether a loop's body goes round after an error and leaves
// the loop without one. A loop that leaves on an error does many things once each;
// one that goes round either way does the next thing.
func (u *unit) endsOnSuccess(body *ast.BlockStmt) bool {
	last := len(body.List) > 0 && leaves(body.List[len(body.List)-1])
	found := false
	inspectOwn(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return false
		case *ast.IfStmt:
			found = found || u.successIf(n, last)
		case *ast.CaseClause:
			for _, e := range n.List {
				ends := len(n.Body) > 0 && returns(n.Body[len(n.Body)-1])
				found = found || ends && !last && u.compares(e, token.EQL)
			}
		}
		return !found
	})
	return found
}

// successIf judges one if statement; last: the loop's last statement leaves it.
func (u *unit) successIf(n *ast.IfStmt, last bool) bool {
	ends := len(n.Body.List) > 0 && leaves(n.Body.List[len(n.Body.List)-1])
	if u.compares(n.Cond, token.EQL) {
		return ends && !last
	}
	if !u.compares(n.Cond, token.NEQ) || ends {
		return false
	}
	if e, ok := n.Else.(*ast.BlockStmt); ok && len(e.List) > 0 && leaves(e.List[len(e.List)-1]) {
		return true
	}
	return last
}

// leaves reports whether a statement ends a loop around it.
func leaves(s ast.Stmt) bool {
	if b, ok := s.(*ast.BranchStmt); ok {
		return b.Tok == token.BREAK
	}
	return returns(s)
}

func returns(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return s.Tok == token.BREAK && s.Label != nil
	}
	return false
}
