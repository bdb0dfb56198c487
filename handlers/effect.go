package handlers

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// effect shows one effect: the target of every alert link.
func (s *server) effect(c echo.Context) error {
	who, err := s.viewer(c)
	if err != nil {
		return err
	}
	k, err := s.loadCase(c)
	if err != nil {
		return err
	}
	if err := s.logView(c, who, k.Effect.ID); err != nil {
		return err
	}
	v := effectView{Who: who, AllArgs: c.QueryParam(web.ParamArgs) == web.ArgsAll, Hosts: s.cfg.EvidenceHosts}
	if err := s.kept(c, who, k, &v); err != nil {
		return err
	}
	n := noteFor(c.QueryParam(web.ParamNote))
	if c.QueryParam(web.ParamNote) == noteFresh && v.Form == nil && v.Word.reason == "" {
		n.Lines = []string{"Nothing is recorded yet: decide on what the page shows now."} // somebody else came back
	}
	return s.renderEffect(c, http.StatusOK, k, v, n)
}

// loadCase reads the effect of the path. What can't be an id is not asked for.
func (s *server) loadCase(c echo.Context) (*journal.Case, error) {
	id := strings.ToLower(c.Param("id"))
	if !journal.ValidID(id) {
		return nil, journal.ErrNotFound
	}
	k, err := s.cfg.Journal.Case(c.Request().Context(), id)
	if err != nil {
		return nil, fmt.Errorf("loading effect %s: %w", id, err)
	}
	return &k, nil
}

func (s *server) renderEffect(c echo.Context, status int, k *journal.Case, v effectView, note *web.Notice) error {
	if err := s.fillTeam(c, k, &v); err != nil {
		return err
	}
	made := clock{k.Now}.ago(k.Now)
	sh := s.shell(c, pageTitle(k), &made)
	sh.Note = note
	return render(c, status, web.Effect(newEffectPage(sh, k, v)))
}

func pageTitle(k *journal.Case) string {
	t := web.Visible(firstOf(strings.TrimSpace(k.Effect.Subject), k.Effect.Operation), 60)
	return "Did it land? " + t.String()
}

// The notes that a redirect may leave on top of the effect's page.
const (
	noteDecided      = "recorded"
	noteRepeated     = "repeated"
	noteAsked        = "asked"
	noteAcknowledged = "acknowledged"
	noteProposed     = "proposed"
	noteApproved     = "approved"
	noteRejected     = "rejected"
	noteFresh        = "fresh"
	noteReviewed     = "reviewed"
	noteRedelivered  = "redelivered"
)

func noteFor(note string) *web.Notice {
	switch note {
	case noteDecided:
		return &web.Notice{Tone: web.ToneGood, Title: "The decision is recorded", Lines: []string{"What becomes of it is shown below."}}
	case noteRepeated:
		return &web.Notice{Tone: web.ToneInfo, Title: "This decision was recorded already", Lines: []string{"Your second click changed nothing. What becomes of the first is shown below."}}
	case noteAsked:
		return &web.Notice{Tone: web.ToneInfo, Title: "The provider is being asked", Lines: []string{"The evidence below says when it was pulled. If it is not newer yet, reload in a moment."}}
	case noteProposed:
		return &web.Notice{Tone: web.ToneInfo, Title: "Your proposal is recorded", Lines: []string{"Nothing is ordered or closed yet: it waits for a second person."}}
	case noteApproved:
		return &web.Notice{Tone: web.ToneGood, Title: "You approved it: the decision is recorded", Lines: []string{"What becomes of it is shown below."}}
	case noteRejected:
		return &web.Notice{Tone: web.ToneInfo, Title: "The proposal is ended", Lines: []string{"The effect waits for a decision as before."}}
	case noteFresh:
		return &web.Notice{Tone: web.ToneInfo, Title: "You are signed in again", Lines: []string{"Nothing is recorded yet. Your text is below: decide on what the page shows now."}}
	case noteRedelivered:
		return &web.Notice{Tone: web.ToneInfo, Title: "It is handed over again", Lines: []string{"What the runtime answers is shown below, in a moment."}}
	case noteAcknowledged:
		return &web.Notice{Tone: web.ToneGood, Title: "Acknowledged", Lines: []string{"The reason is kept in the timeline and in the audit trail."}}
	}
	return teamNote(note)
}

// versionAnswer tells the page script whether what it shows is still so.
type versionAnswer struct {
	Version string `json:"version"`
}

// effectVersion answers with a mark that changes whenever the page would.
func (s *server) effectVersion(c echo.Context) error {
	if _, err := s.viewer(c); err != nil {
		return err
	}
	k, err := s.loadCase(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, versionAnswer{Version: pageVersion(k)})
}

// pageVersion covers what the effect's own version does not: a delivery that was
// picked up, and a lease or a proposal that ran out without a write.
func pageVersion(k *journal.Case) string {
	acked := 0
	for _, r := range k.Resolutions {
		if r.AckedAt != nil {
			acked++
		}
	}
	return fmt.Sprintf("%d.%s.%d.%d.%t.%t", k.Effect.Version, k.Effect.State, len(k.Resolutions), acked, k.Live(), k.Proposal.Open(k.Now)) + handoverVersion(k) + teamVersion(k)
}
