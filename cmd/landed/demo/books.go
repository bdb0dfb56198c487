package demo

import (
	"crypto/sha256"
	"encoding/base64"
	"html/template"
)

// bookStyle is the whole look of the books page.
const bookStyle = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.4rem .6rem;border-bottom:1px solid color-mix(in srgb,currentColor 20%,transparent)}
td:nth-child(4){font-family:ui-monospace,monospace;font-size:.85em;overflow-wrap:anywhere}p{max-width:45rem}div{overflow-x:auto}`

func bookStyleSum() string {
	sum := sha256.Sum256([]byte(bookStyle))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// bookHTML is the page of the books.
const bookHTML = `<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>What the providers did</title><style>{{.Style}}</style>
<h1>What the providers did</h1>
<p>The sandbox providers’ own books: every mail, ticket, payout and charge that really happened. Compare them with what the desk says, and see that nothing happens twice unless somebody ordered it.</p>
<div tabindex="0" role="region" aria-label="The books"><table><thead><tr><th scope="col">Time (UTC)</th><th scope="col">Provider</th><th scope="col">What</th><th scope="col">Reference or key</th><th scope="col">Id</th></tr></thead><tbody>
{{range .Rows}}<tr><td>{{.At.Format "15:04:05"}}</td><td>{{.Provider}}</td><td>{{.What}}{{if .Draft}} (kept as a draft){{end}}</td><td>{{.Ref}}</td><td>{{.ID}}</td></tr>
{{end}}</tbody></table></div></html>`

// parseBooks reads the page; it is our own constant.
func parseBooks() *template.Template { return template.Must(template.New("books").Parse(bookHTML)) }
