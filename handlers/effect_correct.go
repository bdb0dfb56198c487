package handlers

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// correctForm shows the form for other arguments. What the tool does not show is
// not in it, and stays as it is.
func (s *server) correctForm(c echo.Context) error {
	who, err := s.viewer(c)
	if err != nil {
		return err
	}
	if !who.MayDecide() {
		return &roleError{what: "decide", need: []journal.Role{journal.RoleOperator, journal.RoleApprover}}
	}
	k, err := s.loadCase(c)
	if err != nil {
		return err
	}
	if err := s.logView(c, who, k.Effect.ID); err != nil {
		return err
	}
	v := effectView{Who: who}
	if err := s.kept(c, who, k, &v); err != nil {
		return err
	}
	f := formState{}
	if v.Form != nil && v.Form.correction != nil {
		f = *v.Form
	}
	return s.renderCorrect(c, http.StatusOK, k, f, nil, nil)
}

func (s *server) renderCorrect(c echo.Context, status int, k *journal.Case, f formState, wrong *journal.InvalidError, note *web.Notice) error {
	now := clock{k.Now}
	made := now.ago(k.Now)
	sh := s.shell(c, "Do it anew with other arguments?", &made)
	sh.Note = note
	a := journal.Assess(&k.Snapshot)
	shown, hidden := editable(k)
	if f.correction == nil {
		f.correction = &web.CorrectionFields{Args: shown, Subject: k.Effect.Subject, Amount: k.Effect.Amount, Currency: k.Effect.Currency}
	}
	p := web.CorrectPage{Shell: sh, Head: effectHead(now, k), PostURL: web.CorrectURL(k.Effect.ID), Codes: reasonCodes(f.code), Errors: f.errors, Wrong: wrongCorrection(wrong),
		Draft: web.Draft{Choice: string(journal.VerbCorrect), Code: f.code, Reason: f.reason, Version: strconv.FormatInt(k.Effect.Version, 10), Digest: a.Digest, Correction: f.correction}}
	if b := a.BlockFor(journal.VerbCorrect, ""); b != nil {
		p.Closed = web.BlockSentence(b.Code)
	}
	if n := len(hidden); n > 0 {
		p.Hidden = web.Count(n, "member is", "members are") + " not shown, as the tool asks, and stay as they are."
	}
	return render(c, status, web.Correct(p))
}

// editable is the args without what the tool hides, as JSON to be edited, and the
// hidden members.
func editable(k *journal.Case) (text string, hidden []web.RawMember) {
	members, isObject := web.Members(k.Effect.Args)
	if !isObject {
		return string(k.Effect.Args), nil
	}
	var shown []web.RawMember
	for _, m := range members {
		if hiddenField(k.Tool, m.Name) {
			hidden = append(hidden, m)
			continue
		}
		shown = append(shown, m)
	}
	return object(shown), hidden
}

// object writes members one a line, their values byte for byte.
func object(members []web.RawMember) string {
	var b strings.Builder
	b.WriteString("{")
	for i, m := range members {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n  " + strconv.Quote(m.Name) + ": " + string(m.Value))
	}
	if len(members) > 0 {
		b.WriteString("\n")
	}
	b.WriteString("}")
	return b.String()
}

// corrected puts what the person wrote together with the members that they were
// not shown. What is no object is theirs as it is.
func corrected(k *journal.Case, f *web.CorrectionFields) *journal.Correction {
	text := strings.TrimSpace(f.Args)
	out := &journal.Correction{Args: []byte(text), Subject: strings.TrimSpace(f.Subject), Amount: strings.TrimSpace(f.Amount), Currency: strings.TrimSpace(f.Currency)}
	if text == "" {
		out.Args = nil
	}
	_, hidden := editable(k)
	members, isObject := web.Members(out.Args)
	if !isObject || len(hidden) == 0 || journal.CheckArgs(out.Args) != nil {
		return out
	}
	for _, h := range hidden {
		if !slices.ContainsFunc(members, func(m web.RawMember) bool { return m.Name == h.Name }) {
			members = append(members, h)
		}
	}
	out.Args = []byte(object(members))
	return out
}

// correct takes the form and shows what would be proposed; nothing is written.
func (s *server) correct(c echo.Context) error {
	who, k, f, err := s.takeForm(c)
	if err != nil {
		return err
	}
	if f.correction == nil {
		f.correction = &web.CorrectionFields{}
	}
	if c.FormValue(web.FieldEdit) != "" {
		return s.renderCorrect(c, http.StatusOK, k, f, nil, nil)
	}
	d := f.decision(k, who)
	var ie *journal.InvalidError
	if f.errors = formErrors(d, f); f.errors.Code != "" || f.errors.Reason != "" {
		return s.renderCorrect(c, http.StatusUnprocessableEntity, k, f, nil, errorSummary(web.FieldErrors{Code: f.errors.Code, Reason: f.errors.Reason}))
	}
	d, ask, err := k.Weigh(d)
	if errors.As(err, &ie) {
		return s.renderCorrect(c, http.StatusUnprocessableEntity, k, f, ie, correctionSummary(ie))
	}
	if err != nil {
		return s.refused(c, who, f, err)
	}
	a := journal.Assess(&k.Snapshot)
	made := clock{k.Now}.ago(k.Now)
	return render(c, http.StatusOK, web.Confirm(newConfirmPage(s.shell(c, "Record this decision?", &made), k, a, f, d, ask)))
}

// wrongCorrection puts what is wrong beside the field that it is about.
func wrongCorrection(ie *journal.InvalidError) web.CorrectionFields {
	var w web.CorrectionFields
	if ie == nil {
		return w
	}
	switch ie.Field {
	case "subject":
		w.Subject = sentence(ie)
	case "amount":
		w.Amount = sentence(ie)
	case "currency":
		w.Currency = sentence(ie)
	default:
		w.Args = sentence(ie)
	}
	return w
}

func correctionSummary(ie *journal.InvalidError) *web.Notice {
	at := "#f-args"
	switch ie.Field {
	case "subject", "amount", "currency":
		at = "#f-" + ie.Field
	}
	return &web.Notice{Tone: web.ToneStop, Title: "Nothing is recorded yet", Fields: []web.Link{{Text: sentence(ie), URL: at}}}
}

// correctionDiff is what a correction changes, side by side.
func correctionDiff(k *journal.Case, x *journal.Correction) []web.DiffRow {
	if x == nil {
		return nil
	}
	diff, _ := journal.DiffArgs(nil, k.Effect.Args, x.Args)
	var out []web.DiffRow
	for _, d := range diff {
		out = append(out, diffRow(k.Tool, d))
	}
	plain := func(name, was, now string) {
		if was != now {
			out = append(out, web.DiffRow{Name: line(name), Here: web.Visible(was, web.ValueLimit), There: web.Visible(now, web.ValueLimit)})
		}
	}
	plain("Subject", k.Effect.Subject, x.Subject)
	plain("Amount", strings.TrimSpace(k.Effect.Amount+" "+k.Effect.Currency), strings.TrimSpace(x.Amount+" "+x.Currency))
	return out
}

func diffRow(t journal.Tool, d journal.FieldDiff) web.DiffRow {
	if d.Field != "args" && hiddenField(t, d.Field) {
		return web.DiffRow{Name: line(d.Field), Hidden: true}
	}
	return web.DiffRow{Name: line(d.Field), Here: web.PrettyJSON([]byte(d.Was), web.ValueLimit), There: web.PrettyJSON([]byte(d.Now), web.ValueLimit)}
}

// correctRefused shows the form again, with what the person typed.
func (s *server) correctRefused(c echo.Context, k *journal.Case, f formState, who journal.Actor, err error) error {
	var (
		ie *journal.InvalidError
		pe *journal.PolicyError
	)
	if errors.As(err, &ie) {
		return s.renderCorrect(c, http.StatusUnprocessableEntity, k, f, ie, correctionSummary(ie))
	}
	if errors.As(err, &pe) && pe.Code == journal.PolicyStepUp {
		if err := s.keep(c, who, k, f.draft()); err != nil {
			return err
		}
	}
	n, status := s.refusalNotice(k, err)
	if n == nil {
		return err
	}
	return s.renderCorrect(c, status, k, f, nil, n)
}
