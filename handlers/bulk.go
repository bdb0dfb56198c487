package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// Bulks is what deciding many effects together needs of the journal.
type Bulks interface {
	Causes(ctx context.Context, f journal.ListFilter) (journal.CausePage, error)
	FreezeBulk(ctx context.Context, who journal.Actor, filter string, f journal.ListFilter) (journal.Bulk, error)
	Bulk(ctx context.Context, id string) (journal.Bulk, error)
	// BulkNow returns the effects of the set as they are, by id.
	BulkNow(ctx context.Context, b journal.Bulk) (map[string]*journal.Snapshot, error)
	// OrderBulk starts it; journal.ErrConflict if it was ordered already.
	OrderBulk(ctx context.Context, o journal.BulkOrder, aside []journal.BulkItem) error
	StopBulk(ctx context.Context, id string, who journal.Actor) error
}

// refreshEvery is how often the page of a running bulk reloads, in seconds.
const refreshEvery = "5"

// bulkForm is the order's form as it was sent.
type bulkForm struct {
	choice, code, reason, count string
	errors                      web.FieldErrors
	countError                  string
}

func parseBulkForm(c echo.Context) bulkForm {
	get := func(name string) string { return c.Request().PostForm.Get(name) }
	return bulkForm{choice: get(web.FieldChoice), code: get(web.FieldCode), reason: strings.ReplaceAll(get(web.FieldReason), "\r\n", "\n"),
		count: strings.TrimSpace(get(web.FieldCount))}
}

func (f bulkForm) order(b *journal.Bulk, who journal.Actor) journal.BulkOrder {
	verb, mode, _ := strings.Cut(f.choice, "/")
	return journal.BulkOrder{BulkID: b.ID, Verb: journal.Verb(verb), Mode: journal.ReissueMode(mode), ReasonCode: journal.ReasonCode(f.code),
		Reason: strings.TrimSpace(f.reason), Actor: who, At: b.Now}
}

// check names every field that has to be mended; reaches is what the choice
// reaches now.
func (f *bulkForm) check(o journal.BulkOrder, reaches int) bool {
	f.errors = formErrors(journal.Decision{Verb: o.Verb, Mode: o.Mode, ReasonCode: o.ReasonCode, Reason: f.reason, Expected: 1, Bulk: 1}, formState{choice: f.choice, code: f.code, reason: f.reason})
	var ie *journal.InvalidError
	if err := o.Validate(); !f.errors.Any() && errors.As(err, &ie) {
		f.errors = fieldErrors(ie)
	}
	if f.errors.Choice == "" && reaches == 0 {
		f.errors.Choice = "This reaches none of the effects any more."
	}
	if f.errors.Choice == "" && o.Verb == journal.VerbReissue && f.count != strconv.Itoa(reaches) {
		f.countError = "This re-issue reaches " + web.Count(reaches, "effect", "effects") + ": type that number if it is what you mean."
	}
	return !f.errors.Any() && f.countError == ""
}

// bulkFreeze keeps what a filter shows now, to be decided together.
func (s *server) bulkFreeze(c echo.Context) error {
	who, err := s.viewer(c)
	if err != nil {
		return err
	}
	if !who.MayDecide() {
		return &roleError{what: "decide", need: []journal.Role{journal.RoleOperator, journal.RoleApprover}}
	}
	filter := c.Request().PostForm.Get(web.FieldFilter)
	values, err := url.ParseQuery(filter)
	if err != nil || len(filter) > 4000 {
		return &journal.InvalidError{Field: web.FieldFilter, Detail: "can't be read: go back to the list and press the button there"}
	}
	q := listQueryOf(values)
	q.After, q.Group = "", ""
	_, kept, _ := strings.Cut(web.ListURL(q), "?")
	b, err := s.cfg.Journal.FreezeBulk(c.Request().Context(), who, kept, s.viewedFilter(who, q))
	if err != nil {
		return fmt.Errorf("freezing a set: %w", err)
	}
	return c.Redirect(http.StatusSeeOther, web.BulkURL(b.ID))
}

// loadBulk reads the bulk of the path.
func (s *server) loadBulk(c echo.Context) (*journal.Bulk, error) {
	id := strings.ToLower(c.Param("id"))
	if !journal.ValidID(id) {
		return nil, echo.ErrNotFound
	}
	b, err := s.cfg.Journal.Bulk(c.Request().Context(), id)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, echo.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("loading bulk %s: %w", id, err)
	}
	return &b, nil
}

// bulk shows a frozen set with its dry run, or what becomes of an order.
func (s *server) bulk(c echo.Context) error {
	who, err := s.viewer(c)
	if err != nil {
		return err
	}
	b, err := s.loadBulk(c)
	if err != nil {
		return err
	}
	if err := s.logView(c, who, ""); err != nil {
		return err
	}
	if b.State != journal.BulkFrozen {
		return s.renderBulkResult(c, who, b)
	}
	var f bulkForm
	if who.Same(b.Actor) {
		if f, err = s.keptBulk(c, who, b); err != nil {
			return err
		}
	}
	return s.renderBulk(c, http.StatusOK, who, b, f, nil)
}

func (s *server) renderBulk(c echo.Context, status int, who journal.Actor, b *journal.Bulk, f bulkForm, note *web.Notice) error {
	now, err := s.cfg.Journal.BulkNow(c.Request().Context(), *b)
	if err != nil {
		return fmt.Errorf("reading the effects of bulk %s: %w", b.ID, err)
	}
	made := clock{b.Now}.ago(b.Now)
	sh := s.shell(c, "Decide several", &made)
	sh.Note = note
	return render(c, status, web.Bulk(newBulkPage(sh, who, b, now, f)))
}

func (s *server) renderBulkResult(c echo.Context, who journal.Actor, b *journal.Bulk) error {
	made := clock{b.Now}.ago(b.Now)
	watch := b.State == journal.BulkRunning && c.QueryParam(web.ParamWatch) != web.WatchOff
	if watch {
		c.Response().Header().Set("Refresh", refreshEvery)
	}
	return render(c, http.StatusOK, web.BulkResult(newBulkResult(s.shell(c, "Decided together", &made), who, b, watch)))
}

// takeBulk reads what both steps of ordering need. A page in its place was
// answered if done.
func (s *server) takeBulk(c echo.Context) (who journal.Actor, b *journal.Bulk, err error) {
	if who, err = s.viewer(c); err != nil {
		return who, nil, err
	}
	if !who.MayDecide() {
		return who, nil, &roleError{what: "decide", need: []journal.Role{journal.RoleOperator, journal.RoleApprover}}
	}
	b, err = s.loadBulk(c)
	return who, b, err
}

// bulkConfirm shows what would be ordered. Nothing is written but a text that is
// kept while its author signs in again.
func (s *server) bulkConfirm(c echo.Context) error {
	return s.onBulk(c, func(who journal.Actor, b *journal.Bulk, f bulkForm, o journal.BulkOrder, ws []journal.BulkWeight) error {
		made := clock{b.Now}.ago(b.Now)
		return render(c, http.StatusOK, web.BulkConfirm(newBulkConfirm(s.shell(c, "Order this?", &made), b, f, o, ws)))
	})
}

// bulkOrder records the order; a background round carries it out.
func (s *server) bulkOrder(c echo.Context) error {
	return s.onBulk(c, func(who journal.Actor, b *journal.Bulk, _ bulkForm, o journal.BulkOrder, ws []journal.BulkWeight) error {
		var aside []journal.BulkItem
		for _, w := range ws {
			if w.Eligible {
				o.Eligible++
				continue
			}
			if w.Item.Outcome == journal.BulkRefused {
				w.Item.Outcome = journal.BulkSkipped
			}
			aside = append(aside, w.Item)
		}
		err := s.cfg.Journal.OrderBulk(c.Request().Context(), o, aside)
		if err != nil && !errors.Is(err, journal.ErrConflict) { // a second click finds the first one's order
			return fmt.Errorf("ordering bulk %s: %w", b.ID, err)
		}
		if err := s.cfg.Journal.DropDraft(c.Request().Context(), who, b.ID); err != nil {
			s.log.WarnContext(c.Request().Context(), "a kept text could not be dropped", "bulk", b.ID, "err", err)
		}
		return c.Redirect(http.StatusSeeOther, web.BulkURL(b.ID))
	})
}

// onBulk weighs the order that a form gives and goes on with it if it can stand;
// else it shows the set as it is now, with the person's text.
func (s *server) onBulk(c echo.Context, goOn func(journal.Actor, *journal.Bulk, bulkForm, journal.BulkOrder, []journal.BulkWeight) error) error {
	who, b, err := s.takeBulk(c)
	if err != nil {
		return err
	}
	if b.State != journal.BulkFrozen {
		return c.Redirect(http.StatusSeeOther, web.BulkURL(b.ID))
	}
	f := parseBulkForm(c)
	if c.FormValue(web.FieldEdit) != "" {
		return s.renderBulk(c, http.StatusOK, who, b, f, nil)
	}
	o := f.order(b, who)
	var pe *journal.PolicyError
	if err := o.Permits(b); errors.As(err, &pe) {
		return s.renderBulk(c, http.StatusForbidden, who, b, f, &web.Notice{Tone: web.ToneStop, Title: "Not ordered", Lines: []string{upper(pe.Detail) + "."}})
	}
	now, err := s.cfg.Journal.BulkNow(c.Request().Context(), *b)
	if err != nil {
		return fmt.Errorf("reading the effects of bulk %s: %w", b.ID, err)
	}
	ws := b.WeighBulk(o, now)
	reaches, signIn := reach(ws)
	if !f.check(o, reaches) {
		n := errorSummary(f.errors)
		if f.countError != "" {
			n.Fields = append(n.Fields, web.Link{Text: f.countError, URL: "#f-count"})
		}
		return s.renderBulk(c, http.StatusUnprocessableEntity, who, b, f, n)
	}
	if signIn > 0 {
		return s.bulkSignIn(c, who, b, f)
	}
	return goOn(who, b, f, o, ws)
}

// reach counts what an order would decide or propose, and how much of that needs
// a fresh login.
func reach(ws []journal.BulkWeight) (reaches, signIn int) {
	for _, w := range ws {
		if w.Eligible {
			reaches++
		}
		if w.SignIn {
			signIn++
		}
	}
	return reaches, signIn
}

// bulkSignIn keeps the text and sends the person to prove anew who they are. The
// typed number is not kept: it is typed anew, on what the page shows then.
func (s *server) bulkSignIn(c echo.Context, who journal.Actor, b *journal.Bulk, f bulkForm) error {
	text, err := json.Marshal(draft{Choice: f.choice, Code: f.code, Reason: f.reason})
	if err != nil {
		return fmt.Errorf("keeping a text: %w", err)
	}
	if err := s.cfg.Journal.SaveDraft(c.Request().Context(), who, b.ID, text); err != nil {
		return fmt.Errorf("keeping a text: %w", err)
	}
	n := &web.Notice{Tone: web.ToneWarn, Title: "This needs a fresh login",
		Lines: []string{"The policy asks that you prove again who you are. Nothing is recorded yet, and nothing will be by signing in: you come back here, with your text, and decide then."},
		Links: []web.Link{{Text: "Sign in again", URL: s.cfg.FreshLogin(web.BulkURL(b.ID))}}}
	return s.renderBulk(c, http.StatusForbidden, who, b, f, n)
}

func (s *server) keptBulk(c echo.Context, who journal.Actor, b *journal.Bulk) (bulkForm, error) {
	text, err := s.cfg.Journal.Draft(c.Request().Context(), who, b.ID)
	if err != nil {
		return bulkForm{}, fmt.Errorf("reading a kept text: %w", err)
	}
	var d draft
	if len(text) == 0 || json.Unmarshal(text, &d) != nil {
		return bulkForm{}, nil
	}
	return bulkForm{choice: d.Choice, code: d.Code, reason: d.Reason}, nil
}

// bulkStop ends a running bulk; what was not reached stays as it is.
func (s *server) bulkStop(c echo.Context) error {
	who, b, err := s.takeBulk(c)
	if err != nil {
		return err
	}
	err = s.cfg.Journal.StopBulk(c.Request().Context(), b.ID, who)
	if err != nil && !errors.Is(err, journal.ErrConflict) { // it ended by itself, or was stopped before
		return fmt.Errorf("stopping bulk %s: %w", b.ID, err)
	}
	return c.Redirect(http.StatusSeeOther, web.BulkURL(b.ID))
}

// viewedFilter is what the list would show this person.
func (s *server) viewedFilter(who journal.Actor, q web.ListQuery) journal.ListFilter {
	f := listFilter(q)
	f.Viewer = who
	return f
}
