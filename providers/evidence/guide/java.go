package guide

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/landedhq/landed/journal"
)

func javaSyntax() syntax {
	return syntax{
		object: "object(", objectEnd: ")", list: "list(", listEnd: ")", colon: ", ", comment: " // ", indent: "    ",
		part:   javaPart,
		number: func(name string) string { return "args.integer(" + strconv.Quote(name) + ", 0)" },
	}
}

func javaPart(p Part) string {
	switch p.Kind {
	case Ref:
		return "grant.ref()"
	case DashedRef:
		return "dashed(grant.ref())"
	case ProviderKey:
		return "grant.providerKey()"
	case DashedProviderKey:
		return "dashed(grant.providerKey())"
	case Secret:
		return "secret"
	}
	return "args.string(" + strconv.Quote(p.Text) + `, "")`
}

func javaName(name string) string { return camel(words(name)) + "Tool" }

// javaExample writes the tool as a class.
func javaExample(r request) File {
	s, name, given := javaSyntax(), javaName(r.name), "String base, String secret"
	body := javaBody(r, s)
	var b strings.Builder
	b.WriteString("package example;\n\n")
	for _, m := range []string{"dashed", "form", "json", "list", "object", "post", "segment"} {
		if strings.Contains(body, m+"(") {
			fmt.Fprintf(&b, "import static example.Send.%s;\n", m)
		}
	}
	b.WriteString("\n")
	if r.form == asSQL {
		given = "Connection connection"
		b.WriteString("import java.sql.Connection;\nimport java.sql.PreparedStatement;\nimport java.sql.ResultSet;\n")
	}
	if r.form == asRaw {
		b.WriteString("import java.util.Base64;\n")
	}
	b.WriteString("import landed.Grant;\nimport landed.Json;\nimport landed.Outcome;\n\n")
	fmt.Fprintf(&b, "/** The tool %q. */\nfinal class %s {\n    private %s() {}\n\n", r.name, name, name)
	known := fmt.Sprintf(`new Json.Writer().put("class", %q).put("provider", %q).put("client_timeout", %d)`, r.tool.Class, r.name, clientTimeout.Milliseconds())
	if r.tool.Class == journal.ClassProviderIdempotent {
		known += fmt.Sprintf(`.put("key_window", %dL)`, r.tool.KeyWindow.Milliseconds())
	}
	fmt.Fprintf(&b, "    /** What the journal must know of it. */\n    static Json.Writer tool() {\n        return %s;\n    }\n\n", known)
	fmt.Fprintf(&b, "    static Outcome send(Grant grant, %s) throws Exception {\n", given)
	if r.uses(Arg) {
		b.WriteString("        Json args = Json.parse(grant.args());\n")
	}
	b.WriteString(indented(body, "        ") + "    }\n}\n")
	return File{name + ".java", b.String()}
}

func javaBody(r request, s syntax) string {
	switch r.form {
	case asForm:
		return "byte[] body = form(" + javaPairs(s, r.body.members) + ");\n" + javaSend(r, s, "body", "application/x-www-form-urlencoded")
	case asGraphQL:
		return "String query = " + strconv.Quote(r.query) + ";\nbyte[] body = json(object(\"query\", query, \"variables\", " + s.tree(r.body, 0, lineWidth) + "));\n" +
			javaSend(r, s, "body", "application/json")
	case asRaw:
		return javaMessage(r, s) + "byte[] body = json(object(\"raw\", Base64.getUrlEncoder().encodeToString(mail)));\n" + javaSend(r, s, "body", "application/json")
	case asSMTP:
		return javaMessage(r, s) + "return Mail.hand(grant, base, secret, args.string(\"from\", \"\"), args.string(\"to\", \"\"), mail);\n"
	case asSQL:
		return javaRow(r, s)
	}
	return "byte[] body = json(" + s.tree(r.body, 0, lineWidth) + ");\n" + javaSend(r, s, "body", "application/json")
}

// javaPairs writes names and values by turns, each pair on a line.
func javaPairs(s syntax, list []*member) string {
	var b strings.Builder
	for i, m := range list {
		comma := ","
		if i == len(list)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, "\n        %q, %s%s%s", m.name, s.leaf(m.value), comma, remark(s, m.why))
	}
	if len(list) > 0 && list[len(list)-1].why != "" {
		b.WriteString("\n") // a remark must not hide what follows
	}
	return b.String()
}

func javaSend(r request, s syntax, body, kind string) string {
	headers := []*member{{name: "Content-Type", value: str(kind)}}
	if r.auth.name != "" {
		headers = append(headers, field(r.auth.name, append(append(Value{}, r.auth.value...), Part{Kind: Secret})))
	}
	for _, h := range r.headers {
		headers = append(headers, &member{h.name, h.value, h.why})
	}
	var b strings.Builder
	b.WriteString("return post(grant, base")
	for _, p := range r.path {
		e := s.text(Value{p})
		if p.Kind == Arg {
			e = "segment(" + e + ")"
		}
		b.WriteString(" + " + e)
	}
	b.WriteString(", object(" + javaPairs(s, headers) + "), " + body)
	for _, step := range r.id {
		b.WriteString(", " + quoted(step))
	}
	return b.String() + ");\n"
}

func javaMessage(r request, s syntax) string {
	var list []*member
	for _, name := range []string{"From", "To", "Subject"} {
		list = append(list, field(name, r.body.member(strings.ToLower(name)).value))
	}
	for _, h := range r.mime {
		list = append(list, &member{h.name, h.value, h.why})
	}
	text := r.body.member("text")
	return "byte[] mail = Mail.message(Send.object(" + javaPairs(s, list) + "), " + s.leaf(text.value) + ");" + remark(s, text.why) + "\n"
}

func javaRow(r request, s syntax) string {
	names, holders, values := r.row(func(int) string { return "?" }, s)
	var b strings.Builder
	b.WriteString("connection.setAutoCommit(false);\ngrant.sending(); // from here on it may have happened\nString id;\n")
	fmt.Fprintf(&b, "String insert = \"INSERT INTO app.payouts (%s) VALUES (%s) RETURNING id\";\ntry (PreparedStatement row = connection.prepareStatement(insert)) {\n", names, holders)
	for i, v := range values {
		why := ""
		if i == len(values)-1 {
			why = remark(s, r.column.why)
		}
		fmt.Fprintf(&b, "    row.setString(%d, %s);%s\n", i+1, v, why)
	}
	b.WriteString("    try (ResultSet made = row.executeQuery()) {\n        made.next();\n        id = made.getString(1);\n    }\n}\n")
	b.WriteString("connection.commit();\nreturn new Outcome(null, id, false);\n")
	return b.String()
}

// javaWorker adds what every Java worker has.
func javaWorker(list []request, out []File) []File {
	var b strings.Builder
	b.WriteString("package example;\n\nimport java.util.HashMap;\nimport java.util.Map;\n\n/** What this worker can do. */\nfinal class Tools {\n    private Tools() {}\n\n")
	b.WriteString("    static Map<String, Main.Tool> of(String base, String secret) {\n        Map<String, Main.Tool> tools = new HashMap<>();\n")
	for _, r := range list {
		given := r.where() + ", secret"
		if r.form == asSQL {
			given = "java.sql.DriverManager.getConnection(System.getenv(\"DATABASE_URL\"))"
		}
		fmt.Fprintf(&b, "        tools.put(%q, new Main.Tool(%s.tool(), grant -> %s.send(grant, %s)));\n", r.name, javaName(r.name), javaName(r.name), given)
	}
	b.WriteString("        return tools;\n    }\n}\n")
	out = append(out, File{"Tools.java", b.String()}, File{"Send.java", frame("Send.java.txt")}, File{"Main.java", frame("Main.java.txt")})
	if mails(list) {
		out = append(out, File{"Mail.java", frame("Mail.java.txt")})
	}
	return out
}
