package guide

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
)

func pythonSyntax() syntax {
	return syntax{
		object: "{", objectEnd: "}", list: "[", listEnd: "]", colon: ": ", comment: "  # ", indent: "    ", trailing: true,
		literals: map[literal]string{"null": "None", "true": "True", "false": "False"}, part: pythonPart,
		number: func(name string) string { return "args[" + strconv.Quote(name) + "]" },
	}
}

func pythonPart(p Part) string {
	switch p.Kind {
	case Ref:
		return "attempt.ref"
	case DashedRef:
		return "dashed(attempt.ref)"
	case ProviderKey:
		return "attempt.provider_key"
	case DashedProviderKey:
		return "dashed(attempt.provider_key)"
	case Secret:
		return "secret"
	}
	return "args[" + strconv.Quote(p.Text) + "]"
}

func pythonName(name string) string { return strings.Join(words(name), "_") }

// pythonExample writes the tool as what the journal must know, and a function.
func pythonExample(r request) File {
	s, name := pythonSyntax(), pythonName(r.name)
	given := "base, secret"
	if r.form == asSQL {
		given = "connection"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s = {\"class\": %q, \"provider\": %q, \"client_timeout\": \"%s\"%s}\n\n\n", strings.ToUpper(name), r.tool.Class, r.name, clientTimeout, window(r.tool, `, "key_window": "`, `"`))
	fmt.Fprintf(&b, "def %s(attempt, args, %s):\n    \"\"\"The tool %q.\"\"\"\n", name, given, r.name)
	b.WriteString(indented(pythonBody(r, s), "    "))
	return File{name + "_tool.py", b.String()}
}

// window is a tool's key window between two texts, or nothing.
func window(t Tool, before, after string) string {
	if t.Class != journal.ClassProviderIdempotent {
		return ""
	}
	if t.KeyWindow%time.Hour == 0 {
		return before + fmt.Sprintf("%dh", t.KeyWindow/time.Hour) + after
	}
	return before + fmt.Sprintf("%ds", t.KeyWindow/time.Second) + after
}

func pythonBody(r request, s syntax) string {
	dumps := "json.dumps(body).encode()"
	switch r.form {
	case asForm:
		var b strings.Builder
		b.WriteString("body = urllib.parse.urlencode({\n")
		for _, m := range r.body.members {
			fmt.Fprintf(&b, "    %q: %s,%s\n", m.name, s.leaf(m.value), remark(s, m.why))
		}
		return b.String() + "})\n" + pythonSend(r, s, "body.encode()", "application/x-www-form-urlencoded")
	case asGraphQL:
		return "query = " + strconv.Quote(r.query) + "\nvariables = " + s.tree(r.body, 0, lineWidth) + "\nbody = {\"query\": query, \"variables\": variables}\n" +
			pythonSend(r, s, dumps, "application/json")
	case asRaw:
		return pythonMessage(r, s) + "body = {\"raw\": base64.urlsafe_b64encode(mail).decode()}\n" + pythonSend(r, s, dumps, "application/json")
	case asSMTP:
		return pythonMessage(r, s) + "return hand(attempt, base, secret, args[\"from\"], args[\"to\"], mail)\n"
	case asSQL:
		names, holders, values := r.row(func(int) string { return "%s" }, s)
		return fmt.Sprintf(`attempt.sending()  # from here on it may have happened
cursor = connection.cursor()  # of psycopg, not in autocommit
cursor.execute("INSERT INTO app.payouts (%s) VALUES (%s) RETURNING id",
               (%s))  # %s
made = cursor.fetchone()[0]
connection.commit()
return Outcome(provider_id=str(made))
`, names, holders, strings.Join(values, ", "), r.column.why)
	}
	return "body = " + s.tree(r.body, 0, lineWidth) + "\n" + pythonSend(r, s, dumps, "application/json")
}

func pythonSend(r request, s syntax, body, kind string) string {
	var b strings.Builder
	b.WriteString("headers = {\n    \"Content-Type\": " + strconv.Quote(kind) + ",\n")
	if r.auth.name != "" {
		fmt.Fprintf(&b, "    %q: %s,\n", r.auth.name, s.text(append(append(Value{}, r.auth.value...), Part{Kind: Secret})))
	}
	for _, h := range r.headers {
		fmt.Fprintf(&b, "    %q: %s,%s\n", h.name, s.text(h.value), remark(s, h.why))
	}
	b.WriteString("}\nreturn send(attempt, base")
	for _, p := range r.path {
		e := s.text(Value{p})
		if p.Kind == Arg {
			e = "urllib.parse.quote(" + e + `, safe="")`
		}
		b.WriteString(" + " + e)
	}
	b.WriteString(", headers, " + body)
	for _, step := range r.id {
		b.WriteString(", " + quoted(step))
	}
	return b.String() + ")\n"
}

func pythonMessage(r request, s syntax) string {
	var b strings.Builder
	b.WriteString("mail = message([\n")
	for _, name := range []string{"From", "To", "Subject"} {
		fmt.Fprintf(&b, "    (%q, %s),\n", name, s.leaf(r.body.member(strings.ToLower(name)).value))
	}
	for _, h := range r.mime {
		fmt.Fprintf(&b, "    (%q, %s),%s\n", h.name, s.text(h.value), remark(s, h.why))
	}
	text := r.body.member("text")
	return b.String() + "], " + s.leaf(text.value) + ")" + remark(s, text.why) + "\n"
}

func indented(src, by string) string {
	var b strings.Builder
	for line := range strings.Lines(src) {
		b.WriteString(by + line)
	}
	return b.String()
}

// pythonWorker puts everything into one file: a worker of this size needs no more.
func pythonWorker(list []request, tools []File) []File {
	var b strings.Builder
	b.WriteString(frame("frame.py.txt"))
	if mails(list) {
		b.WriteString("\n\n" + frame("mail.py.txt"))
	}
	for _, t := range tools {
		b.WriteString("\n\n" + t.Content)
	}
	b.WriteString("\n\ndef tools(base, secret):\n    \"\"\"What this worker can do.\"\"\"\n    return {\n")
	for _, r := range list {
		name, given := pythonName(r.name), r.where()+", secret"
		if r.form == asSQL {
			given = "database()"
		}
		fmt.Fprintf(&b, "        %q: (%s, lambda attempt, args: %s(attempt, args, %s)),\n", r.name, strings.ToUpper(name), name, given)
	}
	b.WriteString("    }\n")
	for _, r := range list {
		if r.form == asSQL {
			b.WriteString("\n\ndef database():\n    import psycopg\n\n    return psycopg.connect(os.environ[\"DATABASE_URL\"])\n")
		}
	}
	b.WriteString("\n\nif __name__ == \"__main__\":\n    main()\n")
	return []File{{"worker.py", b.String()}}
}
