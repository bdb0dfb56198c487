package rtdesk

import (
	"bytes"
	"html/template"
	"net/http"
	"strconv"
)

const pageTemplate = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #1d1d1f; background: #fff }
h1 { font-size: 1.4rem; overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1rem }
dt { color: #555 }
dd { margin: 0; overflow-wrap: anywhere }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f3f3f5; padding: .8rem; border-radius: .4rem }
p.note { color: #555 }
</style>
</head>
<body>
<p class="note">Sandbox ticket desk. Nothing here leaves this machine.</p>
<h1>{{.Title}}</h1>
{{with .Ticket}}<dl>
<dt>Queue</dt><dd>{{.Queue}}</dd>
<dt>Status</dt><dd>{{.Status}}</dd>
<dt>Requestor</dt><dd>{{.Requestor}}</dd>
<dt>Created by</dt><dd>{{.Creator}}</dd>
<dt>Created</dt><dd><time datetime="{{.Created.Format "2006-01-02T15:04:05Z"}}">{{.Created.Format "2006-01-02 15:04:05"}} UTC</time></dd>
<dt>{{$.Field}}</dt><dd>{{with .Ref}}<code>{{.}}</code>{{else}}not set{{end}}</dd>
</dl>
{{with .Content}}<pre>{{.}}</pre>{{end}}
<p><a href="/">All tickets</a></p>
{{else}}{{if .Tickets}}<ul>
{{range .Tickets}}<li><a href="/Ticket/Display.html?id={{.ID}}">#{{.ID}} {{.Subject}}</a> ({{.Status}})</li>
{{end}}</ul>{{else if .Missing}}<p>There is no such ticket. <a href="/">All tickets</a></p>{{else}}<p>No tickets yet.</p>{{end}}{{end}}
</body>
</html>
`

// pageData is what a page shows: one ticket, all of them, or that one is missing.
type pageData struct {
	Title   string
	Field   string
	Ticket  *Ticket
	Tickets []Ticket
	Missing bool
}

// page shows one ticket to people. A merged one shows the ticket it went into.
func (d *Desk) page(w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.Atoi(r.URL.Query().Get("id")) // no number: no ticket
	t := d.effective(id)
	if t == nil {
		d.render(w, http.StatusNotFound, pageData{Title: "No ticket", Missing: true})
		return
	}
	d.render(w, http.StatusOK, pageData{Title: "#" + strconv.Itoa(t.ID) + ": " + t.Subject, Ticket: t})
}

// list shows all tickets, newest first.
func (d *Desk) list(w http.ResponseWriter, _ *http.Request) {
	all := d.Tickets()
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	d.render(w, http.StatusOK, pageData{Title: "Tickets in " + d.cfg.Queue, Tickets: all})
}

func (d *Desk) render(w http.ResponseWriter, code int, p pageData) {
	p.Field = d.cfg.Field
	var b bytes.Buffer
	if err := template.Must(template.New("page").Parse(pageTemplate)).Execute(&b, p); err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes()) // the client may be gone
}
