package rtdesk

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

const (
	jsonType = `application/json; charset="utf-8"` // RT's own spelling of a record's or list's type
	maxBody  = 1 << 20
)

func (d *Desk) routes() {
	d.mux.HandleFunc("POST /REST/2.0/ticket", d.api(d.create))
	d.mux.HandleFunc("GET /REST/2.0/ticket/{id}", d.api(d.readTicket))
	d.mux.HandleFunc("GET /REST/2.0/tickets", d.api(d.searchTickets))
	d.mux.HandleFunc("GET /REST/2.0/transactions", d.api(d.searchTransactions))
	d.mux.HandleFunc("GET /REST/2.0/queue/{queue}", d.api(d.readQueue))
	d.mux.HandleFunc("GET /REST/2.0/customfield/{id}", d.api(d.readField))
	d.mux.HandleFunc("/REST/2.0/", d.api(func(w http.ResponseWriter, _ *http.Request, _ Account) {
		message(w, http.StatusNotFound, "Not Found")
	}))
	d.mux.HandleFunc("GET /Ticket/Display.html", d.page)
	d.mux.HandleFunc("GET /{$}", d.list)
}

// ServeHTTP serves the API below /REST/2.0/ and the pages for people.
func (d *Desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	d.requests++
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		d.writes++
	}
	d.mu.Unlock()
	d.mux.ServeHTTP(w, r)
}

// api checks the token and plays the faults.
func (d *Desk) api(h func(http.ResponseWriter, *http.Request, Account)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if play(w, r, d.currentFaults()) {
			return
		}
		kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		a, ok := d.cfg.Accounts[token]
		if !ok || !strings.EqualFold(kind, "token") {
			message(w, http.StatusUnauthorized, "Unauthorized")
			return
		}
		h(w, r, a)
	}
}

// create follows RT in what it refuses and in what it silently drops.
func (d *Desk) create(w http.ResponseWriter, r *http.Request, a Account) {
	var in struct {
		Queue        string            `json:"Queue"`
		Subject      string            `json:"Subject"`
		Content      string            `json:"Content"`
		Requestor    string            `json:"Requestor"`
		CustomFields map[string]string `json:"CustomFields"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil || json.Unmarshal(body, &in) != nil {
		message(w, http.StatusBadRequest, "Bad Request")
		return
	}
	queue := d.queueID(in.Queue)
	switch {
	case in.Queue == "":
		message(w, http.StatusBadRequest, "Could not create ticket. Queue not set")
		return
	case queue == 0 || !a.Create:
		message(w, http.StatusForbidden, "No permission to create tickets in the queue '"+in.Queue+"'")
		return
	}
	t := Ticket{Queue: d.queueName(queue), Subject: in.Subject, Content: in.Content, Requestor: in.Requestor, Creator: a.Name}
	if a.SeeField {
		t.Ref = in.CustomFields[d.cfg.Field]
	}
	faults := d.currentFaults()
	d.mu.Lock()
	id := d.add(t, faults.Lag)
	if faults.DuplicateOnCreate {
		d.add(t, faults.Lag)
	}
	d.mu.Unlock()
	if faults.DropAfterCreate {
		panic(http.ErrAbortHandler) // the way to cut a connection without a word
	}
	out := d.view(r, a).ref("ticket", strconv.Itoa(id))
	w.Header().Set("Location", "/REST/2.0/ticket/"+strconv.Itoa(id))
	answer(w, http.StatusCreated, "application/json; charset=utf-8", out)
}

func (d *Desk) readTicket(w http.ResponseWriter, r *http.Request, a Account) {
	id, err := strconv.Atoi(r.PathValue("id"))
	t := d.effective(id)
	switch {
	case err != nil || t == nil:
		message(w, http.StatusNotFound, "Not Found")
	case !a.Show:
		message(w, http.StatusForbidden, "Forbidden")
	default:
		answer(w, http.StatusOK, jsonType, d.view(r, a).ticket(t, r.URL.Query().Get("fields[Queue]")))
	}
}

// readQueue gives 403 for a queue that does not exist, as RT does to accounts
// that may not see it.
func (d *Desk) readQueue(w http.ResponseWriter, r *http.Request, a Account) {
	id := d.queueID(r.PathValue("queue"))
	if id == 0 || !a.SeeQueue {
		message(w, http.StatusForbidden, "Forbidden")
		return
	}
	answer(w, http.StatusOK, jsonType, d.view(r, a).queue(id))
}

// readField refuses: RT shows a field's record only to those who see the field
// globally, and the desk's accounts have their rights on the queue.
func (d *Desk) readField(w http.ResponseWriter, _ *http.Request, _ Account) {
	message(w, http.StatusForbidden, "Forbidden")
}

func (d *Desk) searchTickets(w http.ResponseWriter, r *http.Request, a Account) {
	conds, err := parseQuery(r.URL.Query().Get("query"))
	if err != nil {
		message(w, http.StatusBadRequest, err.Error())
		return
	}
	faults := d.currentFaults()
	rows, err := d.filter(func(t *Ticket) (bool, error) {
		ok, err := d.matches(t, conds)
		if faults.Trouble == TroubleIgnoreFilter {
			return err == nil, err
		}
		hidden := t.Status == statusDeleted || t.MergedInto != 0 && !usesEffectiveID(conds) || !a.Show || t.visibleAt.After(d.cfg.Now())
		return ok && !hidden && len(conds) > 0, err
	})
	if err != nil {
		message(w, http.StatusBadRequest, err.Error())
		return
	}
	v := d.view(r, a)
	v.writeList(w, r, rows, !faults.HoldBackTotals, v.row)
}

// searchTransactions finds the transactions that created tickets; RT tells totals
// of transactions to superusers only.
func (d *Desk) searchTransactions(w http.ResponseWriter, r *http.Request, a Account) {
	conds, err := parseQuery(r.URL.Query().Get("query"))
	var rows []*Ticket
	if err == nil {
		rows, err = d.filter(func(t *Ticket) (bool, error) {
			all := a.Show
			for _, c := range conds {
				ok, err := d.holdsTransaction(t, c)
				if err != nil {
					return false, err
				}
				all = all && ok
			}
			return all, nil
		})
	}
	if err != nil {
		message(w, http.StatusBadRequest, err.Error())
		return
	}
	v := d.view(r, a)
	v.writeList(w, r, rows, false, v.creation)
}

// filter returns copies of the tickets that keep says true to.
func (d *Desk) filter(keep func(*Ticket) (bool, error)) ([]*Ticket, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := keep(&Ticket{}); err != nil {
		return nil, err // a wrong query is refused on an empty desk as well
	}
	var rows []*Ticket
	for _, t := range d.tickets {
		ok, err := keep(t)
		if err != nil {
			return nil, err
		}
		if ok {
			c := *t
			rows = append(rows, &c)
		}
	}
	return rows, nil
}

// writeList writes one page of rows.
func (v view) writeList(w http.ResponseWriter, r *http.Request, rows []*Ticket, totals bool, row func(*Ticket, []string) obj) {
	q := r.URL.Query()
	per, page := number(q.Get("per_page"), 20), number(q.Get("page"), 1)
	per = min(per, 100)
	from, to := min((page-1)*per, len(rows)), min(page*per, len(rows))
	items := []obj{}
	for _, t := range rows[from:to] {
		items = append(items, row(t, strings.Split(q.Get("fields"), ",")))
	}
	out := obj{"count": len(items), "page": page, "per_page": per, "items": items, "total": nil, "pages": nil}
	if totals {
		pages := (len(rows) + per - 1) / per
		out["total"], out["pages"] = len(rows), pages
		if page < pages {
			out["next_page"] = pageURL(v.base, r.URL, page+1)
		}
		if page > 1 && pages > 0 {
			out["prev_page"] = pageURL(v.base, r.URL, min(page-1, pages))
		}
	}
	answer(w, http.StatusOK, jsonType, out)
}

// pageURL is the address of another page of the list at u.
func pageURL(base string, u *url.URL, page int) string {
	q := u.Query()
	q.Set("page", strconv.Itoa(page))
	return base + strings.TrimPrefix(u.Path, "/REST/2.0") + "?" + q.Encode()
}

// number reads a page number as RT does: what is no positive number is the default.
func number(s string, otherwise int) int {
	if !regexp.MustCompile(`^[0-9]{1,6}$`).MatchString(s) {
		return otherwise
	}
	n, _ := strconv.Atoi(s) // the pattern allows numbers only
	if n == 0 {
		return otherwise
	}
	return n
}

func answer(w http.ResponseWriter, code int, contentType string, v any) {
	b, err := json.MarshalIndent(v, "", "   ")
	if err != nil {
		code, b = http.StatusInternalServerError, []byte(`{"message":"Internal Server Error"}`)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_, _ = w.Write(append(b, '\n')) // the client may be gone
}

// message is RT's form of an error.
func message(w http.ResponseWriter, code int, text string) {
	b, _ := json.Marshal(obj{"message": text}) // a string always encodes
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b) // the client may be gone
}
