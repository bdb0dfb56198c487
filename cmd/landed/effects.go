package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/landedhq/landed/cmd/landed/config"
	"github.com/landedhq/landed/cmd/landed/demo"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/postgres"
)

type effectsCmd struct {
	List   effectsListCmd   `cmd:"" help:"List what needs attention."`
	Show   effectsShowCmd   `cmd:"" help:"Show one effect with its assessment."`
	Decide effectsDecideCmd `cmd:"" help:"Decide one effect, by the same rules as the page."`

	Redeliver effectsRedeliverCmd `cmd:"" help:"Have an effect's newest outcome handed over to its runtime once more."`
}

type effectsListCmd struct {
	Config string `required:"" type:"existingfile" help:"The configuration, YAML."`
	Tool   string `help:"Only this tool."`
	State  string `help:"Only this state: INTENT, PARKED, REISSUE, COMMITTED, REJECTED or ABANDONED."`
	Limit  int    `help:"How many." default:"50"`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// effectLine is one row of the list as data.
type effectLine struct {
	ID        string    `json:"id"`
	State     string    `json:"state"`
	Tool      string    `json:"tool"`
	Class     string    `json:"class"`
	Operation string    `json:"operation"`
	Subject   string    `json:"subject"`
	CreatedAt time.Time `json:"created_at"`
	Verdict   string    `json:"verdict,omitempty"`
	Recommend string    `json:"recommend"`
}

func (c *effectsListCmd) Run(ctx context.Context, io stdio, log *slog.Logger) error {
	return withStore(ctx, c.Config, log, func(s *postgres.Store) error {
		page, err := s.List(ctx, journal.ListFilter{Tool: c.Tool, State: journal.State(strings.ToUpper(c.State)), Limit: c.Limit})
		if err != nil {
			return err
		}
		lines := make([]effectLine, 0, len(page.Rows))
		for i := range page.Rows {
			r := &page.Rows[i]
			l := effectLine{ID: r.Effect.ID, State: string(r.Effect.State), Tool: r.Effect.Tool, Class: string(r.Effect.Class), Operation: r.Effect.Operation,
				Subject: r.Effect.Subject, CreatedAt: r.Effect.CreatedAt, Recommend: string(journal.Assess(r).Recommend)}
			if look, ok := r.LastLook(); ok {
				l.Verdict = string(look.Verdict)
			}
			lines = append(lines, l)
		}
		if c.JSON {
			return printJSON(io, lines)
		}
		w := tabwriter.NewWriter(io.out, 0, 4, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tSTATE\tAGE\tTOOL\tEVIDENCE\tRECOMMENDED\tSUBJECT")
		for _, l := range lines {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%q\n", l.ID, l.State, page.Now.Sub(l.CreatedAt).Round(time.Second), l.Tool, l.Verdict, l.Recommend, l.Subject)
		}
		fmt.Fprintf(w, "\n%d need attention\n", page.Total)
		return w.Flush()
	})
}

type effectsShowCmd struct {
	Config string `required:"" type:"existingfile" help:"The configuration, YAML."`
	ID     string `arg:"" help:"The effect's id."`
}

// effectView is one effect as data, with what a decision has to repeat.
type effectView struct {
	effectLine
	Version  int64              `json:"version"`
	Digest   string             `json:"evidence_digest"`
	Ref      string             `json:"ref"`
	Attempts []journal.Attempt  `json:"attempts"`
	Evidence []journal.Evidence `json:"evidence"`
	Reasons  []string           `json:"reasons"`
	Blocked  map[string]string  `json:"blocked,omitempty"`
	// Proposal waits for a second person.
	Proposal *proposalLine `json:"proposal,omitempty"`
	// Twins are other effects of the run that look like the same deed.
	Twins []journal.Twin `json:"twins,omitempty"`
	// Outcomes are what was decided or settled, and how it got to the runtime.
	Outcomes []outcomeLine `json:"outcomes,omitempty"`
}

// proposalLine is an open proposal as data.
type proposalLine struct {
	ID        string    `json:"id"`
	Verb      string    `json:"verb"`
	Mode      string    `json:"mode,omitempty"`
	By        string    `json:"by"`
	Reason    string    `json:"reason"`
	ExpiresAt time.Time `json:"expires_at"`
}

func (c *effectsShowCmd) Run(ctx context.Context, io stdio, log *slog.Logger) error {
	return withStore(ctx, c.Config, log, func(s *postgres.Store) error {
		k, err := s.Case(ctx, c.ID)
		if err != nil {
			return err
		}
		a := journal.Assess(&k.Snapshot)
		v := effectView{Version: k.Effect.Version, Digest: a.Digest, Ref: k.Effect.Ref, Evidence: k.Evidence, Blocked: map[string]string{},
			effectLine: effectLine{ID: k.Effect.ID, State: string(k.Effect.State), Tool: k.Effect.Tool, Class: string(k.Effect.Class),
				Operation: k.Effect.Operation, Subject: k.Effect.Subject, CreatedAt: k.Effect.CreatedAt, Recommend: string(a.Recommend)}}
		for _, t := range k.Attempts {
			t.Token, t.ClaimID = "", "" // the fence is the worker's alone
			v.Attempts = append(v.Attempts, t)
		}
		for _, r := range a.Reasons {
			v.Reasons = append(v.Reasons, r.Code)
		}
		v.Twins, v.Outcomes = k.Twins, outcomeLines(&k)
		if p := k.Proposal; p.Open(k.Now) {
			v.Proposal = &proposalLine{ID: p.ID, Verb: string(p.Decision.Verb), Mode: string(p.Decision.Mode), By: p.Decision.Actor.Name,
				Reason: p.Decision.Reason, ExpiresAt: p.ExpiresAt}
		}
		for _, m := range []journal.ReissueMode{journal.NewKey, journal.SameKey} {
			if b := a.BlockFor(journal.VerbReissue, m); b != nil {
				v.Blocked["reissue "+string(m)] = b.Code
			}
		}
		for _, verb := range []journal.Verb{journal.VerbCloseLanded, journal.VerbCloseNotLanded} {
			if b := a.BlockFor(verb, ""); b != nil {
				v.Blocked[string(verb)] = b.Code
			}
		}
		return printJSON(io, v)
	})
}

type effectsDecideCmd struct {
	Config     string   `required:"" type:"existingfile" help:"The configuration, YAML."`
	ID         string   `arg:"" help:"The effect's id."`
	Verb       string   `arg:"" enum:"reissue,close_landed,close_not_landed,reopen" help:"reissue, close_landed, close_not_landed or reopen."`
	Mode       string   `help:"For reissue: new_key or same_key." enum:"new_key,same_key," default:""`
	ReasonCode string   `required:"" help:"One of the reason codes, like confirmed_by_person."`
	Reason     string   `required:"" help:"Why, in your own words; the reviewer reads it a year from now."`
	Version    int64    `required:"" help:"The version that 'effects show' printed."`
	Digest     string   `required:"" help:"The evidence_digest that 'effects show' printed."`
	ProviderID string   `help:"For close_landed: the provider's id, if known."`
	Override   []string `help:"A block to pass over, like found; the policy must allow it, and a second person approves."`
}

func (c *effectsDecideCmd) Run(ctx context.Context, io stdio, log *slog.Logger) error {
	cfg, err := config.Load(c.Config)
	if err != nil {
		return err
	}
	d, err := newDesk(ctx, cfg, demo.Extras{}, log)
	if err != nil {
		return err
	}
	defer d.close()
	r, err := d.decider.Decide(ctx, journal.Decision{EffectID: c.ID, Verb: journal.Verb(c.Verb), Mode: journal.ReissueMode(c.Mode), Expected: c.Version,
		Digest: c.Digest, Actor: osUser(), Source: "cli", ReasonCode: journal.ReasonCode(c.ReasonCode), Reason: c.Reason, ProviderID: c.ProviderID,
		Overrides: c.Override})
	var stale *journal.StaleError
	if errors.As(err, &stale) {
		return fmt.Errorf("%w: %s run 'landed effects show %s' and decide on what it prints now", err, strings.Join(stale.Changed, " "), c.ID)
	}
	var policy *journal.PolicyError
	if errors.As(err, &policy) && policy.Code == journal.PolicyStepUp {
		return fmt.Errorf("%w; the command line knows no login: decide it on the page, %s/e/%s", err, strings.TrimSuffix(cfg.ExternalURL, "/"), c.ID)
	}
	if err != nil {
		return err
	}
	if p := r.Proposal; p != nil {
		fmt.Fprintf(io.out, "proposed, not decided: an approver has to say yes on the page, %s/e/%s\n", strings.TrimSuffix(cfg.ExternalURL, "/"), c.ID)
		return printJSON(io, map[string]any{"proposal": p.ID, "verb": p.Decision.Verb, "expires_at": p.ExpiresAt, "rules": p.Decision.Rules, "audit": p.AuditSeq})
	}
	if r.Repeated {
		fmt.Fprintln(io.out, "already decided:")
	}
	return printJSON(io, map[string]any{"decision": r.Decision.ID, "verb": r.Decision.Verb, "at": r.Decision.At, "audit": r.Decision.AuditSeq})
}
