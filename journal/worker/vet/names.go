package vet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"regexp"
	"strings"
)

// Where the journal's packages are.
const (
	journalPath = "github.com/landedhq/landed/journal"
	workerPath  = journalPath + "/worker"
	stagedPath  = workerPath + "/staged"
)

// rules are the patterns of names that the analyzer goes by.
type rules struct {
	library *regexp.Regexp // paths of packages that make identifiers
	maker   *regexp.Regexp // their functions that make a fresh one
	keep    *regexp.Regexp // functions that keep what they are given
	retry   *regexp.Regexp // functions, types and packages that call a function again
	notify  *regexp.Regexp // functions that are only told of a retry
}

func newRules() *rules {
	return &rules{
		library: regexp.MustCompile(`(^|[/.-])(uuid|ulid|xid|ksuid|nanoid|shortid|shortuuid|cuid2?|typeid|snowflake|sonyflake|objectid)([/.-]|$)|/bson/primitive$|mongo-driver/v2/bson$`),
		maker:   regexp.MustCompile(`^(Must)?(New(String|Random.*|ObjectID|UUID|V[12467].*|WithTime|DCE.*)?|Make|Generate(UUID|Random.*|String)?|NextID)$`),
		keep:    regexp.MustCompile(`^(?i:save|store|insert|put|set|create|upsert|persist|write|exec|update|add|record|append|enqueue|remember|claim|reserve|commit|publish|query|load_?or|get_?or|hset)`),
		retry:   regexp.MustCompile(`(?i:retr(y|ies|ier|ying|yable)|backoff)|[aA]ttempts?$|^With[aA]ttempts|[rR]epeatUntil`),
		notify:  regexp.MustCompile(`^(On|Is|If|With(?:out)?(On|Notif))|(?i:retryif|delay|notif|onretry|callback|hook|policy|retryafter|retryable$|classif)`),
	}
}

// below reports whether path is top or a package below it.
func below(path, top string) bool { return path == top || strings.HasPrefix(path, top+"/") }

// pkgPath is the package of an object, "" for what has none. A vendored package
// has the path that it is imported by.
func pkgPath(o types.Object) string {
	if o == nil || o.Pkg() == nil {
		return ""
	}
	path := o.Pkg().Path()
	if _, after, ok := strings.Cut(path, "/vendor/"); ok {
		return after
	}
	return path
}

// named returns the package path and the name of a type, through pointers and
// aliases; "" if it has no name.
func named(t types.Type) (path, name string) {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if n, ok := t.(*types.Named); ok {
		return pkgPath(n.Obj()), n.Obj().Name()
	}
	return "", ""
}

// is reports whether t is the named type of a package, or a pointer to it.
func is(t types.Type, path, name string) bool {
	p, n := named(t)
	return n == name && p == path
}

// receiver is the type that f is a method of, or nil.
func receiver(f *types.Func) types.Type {
	if r := f.Signature().Recv(); r != nil {
		return r.Type()
	}
	return nil
}

// display is how a function is called in a message: package.Name or Type.Name.
func display(f *types.Func) string {
	if r := receiver(f); r != nil {
		if _, n := named(r); n != "" {
			return n + "." + f.Name()
		}
		return f.Name()
	}
	if f.Pkg() == nil {
		return f.Name()
	}
	return f.Pkg().Name() + "." + f.Name()
}

// isBasic reports whether t is a string, a number or a bool.
func isBasic(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Basic)
	return ok
}

func isString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

func isInteger(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}

func isError(t types.Type) bool {
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

// constantOf returns the value of a constant string.
func constantOf(info *types.Info, e ast.Expr) (string, bool) {
	if tv, ok := info.Types[e]; ok && tv.Value != nil && tv.Value.Kind() == constant.String {
		return constant.StringVal(tv.Value), true
	}
	return "", false
}

// plain is a name without case and separators.
func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(strings.ToLower(name))
}

// freshness says what a function makes that no second call makes again; "" =
// nothing. Libraries of identifiers are known by their path, as their names for
// it are all alike. Those made of given bytes (version 3 and 5) are not fresh.
func (r *rules) freshness(f *types.Func) string {
	path, name := pkgPath(f), f.Name()
	switch path {
	case "time":
		if receiver(f) == nil && (name == "Now" || name == "Since" || name == "Until") {
			return "the present time"
		}
		return ""
	case "crypto/rand", "math/rand", "math/rand/v2":
		if name == "New" || name == "NewSource" || name == "NewPCG" || name == "NewZipf" || name == "NewChaCha8" || name == "Seed" {
			return ""
		}
		return "random numbers"
	case journalPath:
		if name == "NewID" || name == "NewToken" || name == "RandomRef" {
			return "a new id"
		}
		return ""
	}
	if r.library.MatchString(path) && r.maker.MatchString(name) {
		return "a new id"
	}
	return ""
}

// passes reports whether a function of these packages gives back what it is given
// in another form, so that what its arguments hold, its results hold.
func passes(path string) bool {
	switch path {
	case "fmt", "strings", "bytes", "strconv", "path", "net/url", "slices", "maps", "unicode/utf8", "encoding", "hash", "errors", "cmp", "io", "bufio", "html", "text/template":
		return path != "errors"
	}
	return strings.HasPrefix(path, "encoding/") || strings.HasPrefix(path, "hash/") || path == "crypto/hmac" || digests(path)
}

// digests reports whether the functions of a package make a hash.
func digests(path string) bool {
	switch path {
	case "crypto/sha256", "crypto/sha1", "crypto/sha512", "crypto/sha3", "crypto/md5", "crypto/hmac":
		return true
	}
	return strings.HasPrefix(path, "hash/") || strings.Contains(path, "xxhash") || strings.Contains(path, "blake") || strings.Contains(path, "murmur") || strings.Contains(path, "highwayhash")
}

// writes returns what a call writes into, and what of; nil if it writes nowhere.
func writes(info *types.Info, call *ast.CallExpr) (ast.Expr, []ast.Expr) {
	name, sel := "", (*ast.SelectorExpr)(nil)
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name, sel = f.Sel.Name, f
	}
	if name == "copy" && len(call.Args) == 2 && sel == nil {
		return call.Args[0], call.Args[1:]
	}
	if sel == nil {
		return nil, nil
	}
	obj, _ := info.Uses[sel.Sel].(*types.Func)
	if obj == nil {
		return nil, nil
	}
	switch path := pkgPath(obj); {
	case receiver(obj) != nil && (name == "Write" || name == "WriteString" || name == "WriteByte" || name == "WriteRune"):
		return sel.X, call.Args
	case path == "fmt" && strings.HasPrefix(name, "Fprint"), path == "io" && name == "WriteString":
		if len(call.Args) > 1 {
			return call.Args[0], call.Args[1:]
		}
	case path == "crypto/rand" && name == "Read", path == "math/rand" && name == "Read":
		if len(call.Args) == 1 {
			return call.Args[0], []ast.Expr{call}
		}
	case path == "io" && (name == "ReadFull" || name == "ReadAtLeast"):
		if len(call.Args) >= 2 {
			return call.Args[1], call.Args[:1]
		}
	case path == "encoding/hex" && name == "Encode":
		if len(call.Args) == 2 {
			return call.Args[0], call.Args[1:]
		}
	}
	return nil, nil
}

// keeping reports whether a function's name says that it keeps what it is given.
// What a retry finds again is no longer fresh.
func (r *rules) keeping(f *types.Func) bool {
	switch path := pkgPath(f); {
	case path == "net/http", path == "net/textproto", path == "net/url", path == "context", path == "log", path == "log/slog", passes(path), below(path, workerPath), path == journalPath:
		return false
	}
	return r.keep.MatchString(f.Name())
}

// keyHeader reports whether a request header takes an idempotency key.
func keyHeader(name string) bool {
	switch plain(name) {
	case "idempotencykey", "xidempotencykey", "paypalrequestid", "stripeidempotencykey", "xrequestidempotencykey":
		return true
	}
	return false
}

// looksLikeKey reports whether the name of a member or field is one of an
// idempotency key. It is the rule that package worker applies to arguments.
func looksLikeKey(name string) bool {
	switch p := plain(name); p {
	case "dedupekey", "dedupkey", "dedupeid", "dedupid", "deduplicationid", "deduplicationkey", "clientrequesttoken":
		return true
	default:
		return strings.Contains(p, "idempoten")
	}
}

// isCallID reports whether a name is the one of a framework's tool call id.
func isCallID(name string) bool {
	p := plain(name)
	return p == "callid" || strings.HasSuffix(p, "toolcallid") || strings.HasSuffix(p, "tooluseid") || strings.HasSuffix(p, "functioncallid")
}

// isToolCall reports whether the type of a value is a model's call of a tool, so
// that its ID is a call id.
func isToolCall(t types.Type) bool {
	_, name := named(t)
	p := plain(name)
	return strings.Contains(p, "toolcall") || strings.Contains(p, "tooluse") || strings.Contains(p, "functioncall")
}

// isPersonal reports whether a name is the one of a mail address or number.
func isPersonal(name string) bool {
	p := plain(name)
	for _, end := range []string{"email", "emailaddress", "emailaddr", "mailaddress", "phone", "phonenumber", "mobilenumber"} {
		if strings.HasSuffix(p, end) {
			return true
		}
	}
	return false
}

// isAttempt reports whether a name is the one of a counter of attempts.
func isAttempt(name string) bool {
	switch plain(name) {
	case "attempt", "attempts", "attemptno", "attemptnum", "attemptnumber", "attemptcount", "retry", "retries", "retryno", "retrycount", "retrynumber", "try", "tries":
		return true
	}
	return false
}
