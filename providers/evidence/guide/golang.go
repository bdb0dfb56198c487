package guide

import (
	"fmt"
	"go/format"
	"strconv"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
)

func goSyntax() syntax {
	return syntax{
		object: "map[string]any{", objectEnd: "}", list: "[]any{", listEnd: "}", colon: ": ", comment: " // ", indent: "\t", trailing: true,
		literals: map[literal]string{"null": "nil"}, part: goPart,
		number: func(name string) string { return "args[" + strconv.Quote(name) + "]" },
	}
}

func goPart(p Part) string {
	switch p.Kind {
	case Ref:
		return "grant.Ref()"
	case DashedRef:
		return "journal.Dashed(grant.Ref())"
	case ProviderKey:
		return "grant.ProviderKey()"
	case DashedProviderKey:
		return "journal.Dashed(grant.ProviderKey())"
	case Secret:
		return "secret"
	}
	return "text(args, " + strconv.Quote(p.Text) + ")"
}

func goName(name string) string {
	w := words(name)
	return w[0] + camel(w[1:]) + "Tool"
}

// goExample writes the tool as a worker.ToolSpec.
func goExample(r request) (File, error) {
	s, given := goSyntax(), "base, secret string"
	if r.form == asSQL {
		given = "db *sql.DB"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "// %s is the tool %q.\nfunc %s(%s) worker.ToolSpec {\n\treturn worker.ToolSpec{\n", goName(r.name), r.name, goName(r.name), given)
	fmt.Fprintf(&b, "\t\tTool: journal.Tool{Name: %q, Class: %s, Provider: %q, ClientTimeout: %s},\n\t\tTracked: true,\n", r.name, goClass(r.tool), r.name, goTime(clientTimeout))
	b.WriteString("\t\tRun: func(ctx context.Context, call worker.Call) (worker.Outcome, error) {\n")
	if r.uses(Ref, DashedRef, ProviderKey, DashedProviderKey) {
		b.WriteString("grant, err := worker.Effect(ctx)\nif err != nil {\nreturn worker.Outcome{}, err\n}\n")
	}
	if r.uses(Arg) {
		b.WriteString("args, err := arguments(call)\nif err != nil {\nreturn worker.Outcome{}, worker.NotSent(err)\n}\n")
	}
	b.WriteString(goBody(r, s))
	b.WriteString("},\n}\n}\n")
	src := "package main\n\nimport (\n" + goImports(b.String()) + ")\n\n" + b.String()
	out, err := format.Source([]byte(src))
	if err != nil {
		return File{}, fmt.Errorf("guide: %s in Go: %w", r.name, err)
	}
	return File{strings.Join(words(r.name), "_") + "_tool.go", string(out)}, nil
}

func goBody(r request, s syntax) string {
	marshal := func(body string) string {
		return "body, err := json.Marshal(" + body + ")\nif err != nil {\nreturn worker.Outcome{}, worker.NotSent(err)\n}\n" + goSend(r, s, "body", "application/json")
	}
	switch r.form {
	case asForm:
		var b strings.Builder
		b.WriteString("body := url.Values{\n")
		for _, m := range r.body.members {
			fmt.Fprintf(&b, "%q: {%s},%s\n", m.name, s.leaf(m.value), remark(s, m.why))
		}
		return b.String() + "}\n" + goSend(r, s, "[]byte(body.Encode())", "application/x-www-form-urlencoded")
	case asGraphQL:
		return marshal("map[string]any{\n\"query\": " + strconv.Quote(r.query) + ",\n\"variables\": " + s.tree(r.body, 4, lineWidth) + ",\n}")
	case asRaw:
		return goMessage(r, s) + marshal(`map[string]any{"raw": base64.URLEncoding.EncodeToString(mail)}`)
	case asSMTP:
		return goMessage(r, s) + `return hand(ctx, base, secret, text(args, "from"), text(args, "to"), mail)` + "\n"
	case asSQL:
		return goRow(r, s)
	}
	return marshal(s.tree(r.body, 4, lineWidth))
}

func remark(s syntax, why string) string {
	if why == "" {
		return ""
	}
	return s.comment + why
}

// goSend writes the call that sends.
func goSend(r request, s syntax, body, kind string) string {
	var b strings.Builder
	b.WriteString("return send(ctx, base" + goPath(r, s) + ", map[string]string{\n\"Content-Type\": " + strconv.Quote(kind) + ",\n")
	if r.auth.name != "" {
		fmt.Fprintf(&b, "%q: %s,\n", r.auth.name, s.text(append(append(Value{}, r.auth.value...), Part{Kind: Secret})))
	}
	for _, h := range r.headers {
		fmt.Fprintf(&b, "%q: %s,%s\n", h.name, s.text(h.value), remark(s, h.why))
	}
	b.WriteString("}, " + body)
	for _, step := range r.id {
		b.WriteString(", " + quoted(step))
	}
	return b.String() + ")\n"
}

func quoted(step any) string {
	if name, ok := step.(string); ok {
		return strconv.Quote(name)
	}
	return fmt.Sprint(step)
}

func goPath(r request, s syntax) string {
	var b strings.Builder
	for _, p := range r.path {
		e := s.text(Value{p})
		if p.Kind == Arg {
			e = "url.PathEscape(" + e + ")"
		}
		b.WriteString(" + " + e)
	}
	return b.String()
}

// goMessage writes the mail's header fields, the marks last.
func goMessage(r request, s syntax) string {
	var b strings.Builder
	b.WriteString("mail := message([][2]string{\n")
	for _, name := range []string{"From", "To", "Subject"} {
		fmt.Fprintf(&b, "{%q, %s},\n", name, s.leaf(r.body.member(strings.ToLower(name)).value))
	}
	for _, h := range r.mime {
		fmt.Fprintf(&b, "{%q, %s},%s\n", h.name, s.text(h.value), remark(s, h.why))
	}
	text := r.body.member("text")
	return b.String() + "}, " + s.leaf(text.value) + ")" + remark(s, text.why) + "\n"
}

// goRow writes the row and its reference in one transaction.
func goRow(r request, s syntax) string {
	names, holders, values := r.row(func(n int) string { return fmt.Sprintf("$%d", n) }, s)
	return fmt.Sprintf(`tx, err := db.BeginTx(ctx, nil)
if err != nil {
return worker.Outcome{}, worker.NotSent(err)
}
defer func() { _ = tx.Rollback() }()
if err := worker.Sending(ctx); err != nil { // from here on it may have happened
return worker.Outcome{}, err
}
var id string
err = tx.QueryRowContext(ctx, "INSERT INTO app.payouts (%s) VALUES (%s) RETURNING id",
%s).Scan(&id) // %s
if err != nil {
return worker.Outcome{}, err // also where the reference is there already: Landed looks
}
return worker.Outcome{ProviderID: id}, tx.Commit()
`, names, holders, strings.Join(values, ", "), r.column.why)
}

// row lists an example's columns, place holders and values, the reference last.
func (r request) row(holder func(int) string, s syntax) (names, holders string, values []string) {
	var n, h, v []string
	for _, m := range r.body.members {
		n, v = append(n, m.name), append(v, s.leaf(m.value))
	}
	n, v = append(n, r.column.name), append(v, s.text(r.column.value))
	for i := range n {
		h = append(h, holder(i+1))
	}
	return strings.Join(n, ", "), strings.Join(h, ", "), v
}

func goClass(t Tool) string {
	switch t.Class {
	case journal.ClassProviderIdempotent:
		return "journal.ClassProviderIdempotent, KeyWindow: " + goTime(t.KeyWindow)
	case journal.ClassJournalDeduped:
		return "journal.ClassJournalDeduped"
	}
	return "journal.ClassAtMostOnce"
}

func goTime(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%d * time.Hour", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%d * time.Minute", d/time.Minute)
	}
	return fmt.Sprintf("%d * time.Second", d/time.Second)
}

// goImports lists the packages that a source uses.
func goImports(src string) string {
	var b strings.Builder
	for _, p := range []string{"context", "database/sql", "encoding/base64", "encoding/json", "net/url", "time"} {
		if strings.Contains(src, p[strings.LastIndex(p, "/")+1:]+".") {
			fmt.Fprintf(&b, "%q\n", p)
		}
	}
	return b.String() + "\n\"github.com/landedhq/landed/journal\"\n\"github.com/landedhq/landed/journal/worker\"\n"
}

// goWorker adds what every Go worker has.
func goWorker(list []request, out []File) []File {
	var b strings.Builder
	imports := "\"github.com/landedhq/landed/journal/worker\"\n"
	for _, r := range list {
		if r.form == asSQL {
			imports = "\"database/sql\"\n\"os\"\n\n_ \"github.com/jackc/pgx/v5/stdlib\"\n" + imports
		}
	}
	fmt.Fprintf(&b, "package main\n\nimport (\n%s)\n\n// tools are what this worker can do.\nfunc tools(base, secret string) []worker.ToolSpec {\n", imports)
	for _, r := range list {
		if r.form == asSQL {
			b.WriteString("db, err := sql.Open(\"pgx\", os.Getenv(\"DATABASE_URL\"))\nif err != nil {\npanic(err) // the address can't be read\n}\n")
		}
	}
	b.WriteString("return []worker.ToolSpec{\n")
	for _, r := range list {
		call := r.where() + ", secret"
		if r.form == asSQL {
			call = "db"
		}
		fmt.Fprintf(&b, "%s(%s),\n", goName(r.name), call)
	}
	b.WriteString("}\n}\n")
	src := b.String()
	if formatted, err := format.Source([]byte(src)); err == nil {
		src = string(formatted)
	}
	out = append(out, File{"tools.go", src}, File{"worker.go", frame("frame.go.txt")})
	if mails(list) {
		out = append(out, File{"mail.go", frame("mail.go.txt")})
	}
	return out
}
