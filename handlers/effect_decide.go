package handlers

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// confirm takes the decision form and shows what would be recorded. Nothing is
// written: a decision is final only after the person has seen it whole.
func (s *server) confirm(c echo.Context) error {
	who, k, f, err := s.takeForm(c)
	if err != nil {
		return err
	}
	v := effectView{Who: who, Hosts: s.cfg.EvidenceHosts, Form: &f}
	if c.FormValue(web.FieldEdit) != "" {
		return s.renderEffect(c, http.StatusOK, k, v, nil)
	}
	d := f.decision(k, who)
	if f.errors = formErrors(d, f); f.errors.Any() {
		return s.renderEffect(c, http.StatusUnprocessableEntity, k, v, errorSummary(f.errors))
	}
	a := journal.Assess(&k.Snapshot)
	if changed := changedSince(k, a, d); changed != nil {
		f.dropChoice()
		return s.renderEffect(c, http.StatusConflict, k, v, staleNotice(clock{k.Now}, changed))
	}
	d, ask, err := k.Weigh(d)
	if err != nil {
		return s.refused(c, who, f, err)
	}
	made := clock{k.Now}.ago(k.Now)
	return render(c, http.StatusOK, web.Confirm(newConfirmPage(s.shell(c, "Record this decision?", &made), k, a, f, d, ask)))
}

// decide records the confirmed decision.
func (s *server) decide(c echo.Context) error {
	who, k, f, err := s.takeForm(c)
	if err != nil {
		return err
	}
	d := f.decision(k, who)
	res, err := s.cfg.Decider.Decide(c.Request().Context(), d)
	if err != nil {
		return s.refused(c, who, f, err)
	}
	s.drop(c, who, k.Effect.ID)
	note := noteDecided
	switch {
	case res.Proposal != nil:
		note = noteProposed
	case res.Repeated:
		note = noteRepeated
	}
	return c.Redirect(http.StatusSeeOther, web.EffectNoteURL(k.Effect.ID, note))
}

// takeForm reads what both steps need, and says no to whoever may not decide.
func (s *server) takeForm(c echo.Context) (journal.Actor, *journal.Case, formState, error) {
	who, err := s.viewer(c)
	if err != nil {
		return who, nil, formState{}, err
	}
	if !who.MayDecide() {
		return who, nil, formState{}, &roleError{what: "decide", need: []journal.Role{journal.RoleOperator, journal.RoleApprover}}
	}
	k, err := s.loadCase(c)
	if err == nil {
		s.keepClaim(c, who, k)
	}
	return who, k, parseForm(c), err
}

// refused shows the effect as it is now, with what the person typed.
func (s *server) refused(c echo.Context, who journal.Actor, f formState, err error) error {
	var (
		se *journal.StaleError
		be *journal.BlockedError
		ie *journal.InvalidError
		pe *journal.PolicyError
	)
	isStale, isInvalid, isPolicy := errors.As(err, &se), errors.As(err, &ie), errors.As(err, &pe)
	if !isStale && !isInvalid && !isPolicy && !errors.As(err, &be) {
		return err
	}
	k, loadErr := s.loadCase(c) // as it is now, not as it was before
	if loadErr != nil {
		return loadErr
	}
	s.log.InfoContext(c.Request().Context(), "decision refused", "request", c.Response().Header().Get(headerRequestID), "effect", k.Effect.ID, "err", err)
	v := effectView{Who: who, Hosts: s.cfg.EvidenceHosts, Form: &f}
	if f.correction != nil {
		return s.correctRefused(c, k, f, who, err)
	}
	if isInvalid {
		f.errors = fieldErrors(ie)
		return s.renderEffect(c, http.StatusUnprocessableEntity, k, v, errorSummary(f.errors))
	}
	if isStale {
		f.dropChoice()
	}
	if isPolicy && pe.Code == journal.PolicyStepUp {
		if err := s.keep(c, who, k, f.draft()); err != nil {
			return err
		}
	}
	n, status := s.refusalNotice(k, err)
	return s.renderEffect(c, status, k, v, n)
}

// formState is the decision form as a person sent it.
type formState struct {
	choice, code, reason, providerID, version, digest string
	overrides                                         []string
	breakGlass                                        bool
	correction                                        *web.CorrectionFields
	errors                                            web.FieldErrors
}

func (f formState) draft() draft {
	return draft{Choice: f.choice, Code: f.code, Reason: f.reason, ProviderID: f.providerID, Overrides: f.overrides, BreakGlass: f.breakGlass, Correction: f.correction}
}

// dropChoice: what was chosen before something changed has to be chosen anew.
func (f *formState) dropChoice() { f.choice = "" }

func parseForm(c echo.Context) formState {
	get := func(name string) string { return c.Request().PostForm.Get(name) }
	var x *web.CorrectionFields
	if get(web.FieldChoice) == string(journal.VerbCorrect) {
		x = &web.CorrectionFields{Args: strings.ReplaceAll(get(web.FieldArgs), "\r\n", "\n"), Subject: get(web.FieldSubject), Amount: get(web.FieldAmount), Currency: get(web.FieldCurrency)}
	}
	return formState{
		correction: x, choice: get(web.FieldChoice), code: get(web.FieldCode), reason: strings.ReplaceAll(get(web.FieldReason), "\r\n", "\n"),
		providerID: strings.TrimSpace(get(web.FieldProviderID)), version: get(web.FieldVersion), digest: get(web.FieldDigest),
		overrides: c.Request().PostForm[web.FieldOverride], breakGlass: get(web.FieldBreakGlass) != "",
	}
}

// decision is what the form says. A provider's id belongs to a landing only.
func (f formState) decision(k *journal.Case, who journal.Actor) journal.Decision {
	verb, mode, _ := strings.Cut(f.choice, "/")
	version, err := strconv.ParseInt(f.version, 10, 64)
	if err != nil {
		version = 0
	}
	d := journal.Decision{EffectID: k.Effect.ID, Verb: journal.Verb(verb), Mode: journal.ReissueMode(mode), Expected: version, Digest: f.digest,
		Actor: who, Source: "page", ReasonCode: journal.ReasonCode(f.code), Reason: f.reason, Overrides: f.overrides, BreakGlass: f.breakGlass}
	if d.Verb == journal.VerbCorrect && f.correction != nil {
		d.Correction = corrected(k, f.correction)
	}
	if d.Verb == journal.VerbCloseLanded {
		d.ProviderID = f.providerID
	}
	return d
}

// formErrors names every field that has to be mended, not only the first.
func formErrors(d journal.Decision, f formState) web.FieldErrors {
	var out web.FieldErrors
	if f.choice == "" {
		out.Choice = "Choose what is true and what should follow."
	}
	if f.code == "" {
		out.Code = "Pick a reason from the list."
	}
	// One field at a time: the others are stood in for by values that pass.
	probe := journal.Decision{Verb: journal.VerbCloseLanded, Expected: 1, ReasonCode: journal.ReasonCodes()[0], Reason: "stands in for a reason"}
	check := func(change func(*journal.Decision), field *string) {
		p := probe
		change(&p)
		var ie *journal.InvalidError
		if err := p.Validate(); *field == "" && errors.As(err, &ie) {
			*field = sentence(ie)
		}
	}
	check(func(p *journal.Decision) { p.Verb, p.Mode, p.Correction = d.Verb, d.Mode, d.Correction }, &out.Choice)
	check(func(p *journal.Decision) { p.ReasonCode = d.ReasonCode }, &out.Code)
	check(func(p *journal.Decision) { p.Reason = d.Reason }, &out.Reason)
	check(func(p *journal.Decision) { p.ProviderID = d.ProviderID }, &out.ProviderID)
	check(func(p *journal.Decision) { p.Expected = d.Expected }, &out.Choice)
	return out
}

func fieldErrors(ie *journal.InvalidError) web.FieldErrors {
	text := sentence(ie)
	switch ie.Field {
	case "reason_code":
		return web.FieldErrors{Code: text}
	case "reason":
		return web.FieldErrors{Reason: text}
	case "provider_id":
		return web.FieldErrors{ProviderID: text}
	}
	return web.FieldErrors{Choice: text}
}

// sentence makes "reason has 3 characters: say …" speak of the form.
func sentence(ie *journal.InvalidError) string {
	what, detail := "This ", strings.TrimSuffix(strings.TrimSpace(ie.Detail), ".")
	switch ie.Field {
	case "reason":
		what = "Your text "
	case "reason_code":
		what = "The reason "
	case "args":
		what = "The arguments "
		for one, many := range map[string]string{"is ": "are ", "has ": "have "} {
			if rest, ok := strings.CutPrefix(detail, one); ok {
				detail = many + rest
				break
			}
		}
	case "subject":
		what = "The subject "
	case "amount":
		what = "The amount "
	case "currency":
		what = "The currency "
	case "provider_id":
		what = "The provider’s id "
	case "effect":
		what = "The effect "
	case "to":
		what = "Your choice "
	case "until":
		what = "The time "
	case "comment":
		what = "The comment "
	case "version":
		what = "The version that you saw "
	}
	return what + detail + "."
}

func errorSummary(e web.FieldErrors) *web.Notice {
	n := &web.Notice{Tone: web.ToneStop, Title: "Nothing is recorded yet: something is missing"}
	add := func(text, anchor string) {
		if text != "" {
			n.Fields = append(n.Fields, web.Link{Text: text, URL: "#" + anchor})
		}
	}
	add(e.Choice, "f-choice")
	add(e.Code, "f-code")
	add(e.Reason, "f-reason")
	add(e.ProviderID, "f-provider-id")
	return n
}

// changedSince says what changed between the page and now, as the use case would.
func changedSince(k *journal.Case, a journal.Assessment, d journal.Decision) *journal.StaleError {
	open := k.Decidable() || d.Verb == journal.VerbReopen && k.Reopenable()
	if open && a.Digest == d.Digest && k.Effect.Version == d.Expected {
		return nil
	}
	e := &journal.StaleError{EffectID: k.Effect.ID, Version: k.Effect.Version, State: k.Effect.State}
	if !open {
		e.Changed = append(e.Changed, "It no longer waits for a decision. It is "+web.StateName(k.Effect.State)+".")
	}
	if a.Digest != d.Digest {
		e.Changed = append(e.Changed, "New evidence came in.")
	}
	if len(e.Changed) == 0 {
		e.Changed = append(e.Changed, "A report or another look changed it.")
	}
	if n := len(k.Decisions); n > 0 && !open {
		e.Winner = &k.Decisions[n-1]
	}
	return e
}

func staleNotice(c clock, e *journal.StaleError) *web.Notice {
	n := &web.Notice{Tone: web.ToneStop, Title: "Not recorded: it changed since the page was made"}
	if w := e.Winner; w != nil {
		who := web.Visible(firstOf(w.Actor.Name, w.Actor.Subject), 80).String()
		at := c.ago(w.At)
		n.Title = "Not recorded: " + who + " decided first"
		n.Lines = append(n.Lines, fmt.Sprintf("%s chose “%s” %s (%s).", who, verbTitle(w.Verb, w.Mode), at.Rel, at.Full))
	}
	n.Lines = append(n.Lines, e.Changed...)
	n.Lines = append(n.Lines, "Your text is kept below. The page shows the effect as it is now.")
	n.Links = []web.Link{{Text: "To your text", URL: "#" + web.AnchorDecide}}
	return n
}

func blockedNotice(c clock, b journal.Block) *web.Notice {
	n := &web.Notice{Tone: web.ToneStop, Title: "Not recorded: this is not open now", Lines: []string{web.BlockSentence(b.Code)},
		Links: []web.Link{{Text: "To your text", URL: "#" + web.AnchorDecide}}}
	if b.Until.After(c.now) {
		at := c.ago(b.Until)
		n.Lines = append(n.Lines, "It opens "+at.Rel+" ("+at.Full+").")
	}
	return n
}
