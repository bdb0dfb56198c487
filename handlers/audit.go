package handlers

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/web"
)

// auditPageRows is how many rows one page of the trail holds.
const auditPageRows = 100

// auditTrail shows the audit rows to auditors and admins.
func (s *server) auditTrail(c echo.Context) error {
	who, err := s.viewer(c)
	if err != nil {
		return err
	}
	if !who.Has(journal.RoleAuditor, journal.RoleAdmin) {
		return &roleError{what: "read the audit trail", need: []journal.Role{journal.RoleAuditor, journal.RoleAdmin}}
	}
	before, err := strconv.ParseInt(c.QueryParam(web.ParamBefore), 10, 64)
	if err != nil || before < 0 {
		before = 0
	}
	ctx := c.Request().Context()
	rows, err := s.cfg.Journal.AuditRows(ctx, before, auditPageRows+1)
	if err != nil {
		return fmt.Errorf("reading the audit trail: %w", err)
	}
	if err := s.logView(c, who, ""); err != nil {
		return err
	}
	return render(c, http.StatusOK, web.Audit(newAuditPage(s.shell(c, "Audit trail", nil), before, rows)))
}

// newAuditPage builds one page of the trail from up to one row more than it
// shows. The trail is read a year later: times are absolute.
func newAuditPage(sh web.Shell, before int64, rows []journal.AuditRecord) web.AuditPage {
	p := web.AuditPage{Shell: sh}
	if len(rows) > auditPageRows {
		rows = rows[:auditPageRows]
		p.Older = web.AuditURL(rows[auditPageRows-1].Seq)
	}
	if before > 0 {
		p.First = web.AuditURL(0)
	}
	for _, r := range rows {
		p.Rows = append(p.Rows, auditRow(r))
	}
	return p
}

func auditRow(r journal.AuditRecord) web.AuditRow {
	at := clock{r.At}.ago(r.At)
	out := web.AuditRow{
		Seq: strconv.FormatInt(r.Seq, 10), At: web.Stamp{ISO: at.ISO, Full: at.Full}, Kind: line(r.Kind), Result: web.Badge{Tone: web.ToneGood, Text: "done"},
		Effect: line(r.EffectID), Tool: line(r.Tool), Actor: line(r.Actor), Name: line(r.Name), Source: line(r.Source),
		Reason: web.Visible(r.Reason, journal.MaxReasonBytes), Evidence: line(r.Evidence),
		Hash: hex.EncodeToString(r.Hash), Body: web.PrettyJSON(r.Body, 20_000),
	}
	if r.Result != "done" {
		out.Result = web.Badge{Tone: web.ToneStop, Text: web.Visible(r.Result, 40).String()}
	}
	if journal.ValidID(r.EffectID) {
		out.EffectURL = web.EffectURL(r.EffectID)
	}
	if r.Code != "" {
		out.Code = web.Visible(web.ReasonCodeText(journal.ReasonCode(r.Code)), 80).String()
	}
	switch {
	case r.Was != "" && r.State != "" && r.Was != r.State:
		out.Change = web.Visible(r.Was+" → "+r.State, 80).String()
	case r.State != "":
		out.Change = web.Visible(r.State, 80).String()
	}
	return out
}
