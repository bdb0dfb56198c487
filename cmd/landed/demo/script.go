package demo

import (
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

// mishap is what befalls the agent in a step's first attempt.
type mishap string

const (
	none        mishap = ""
	dieBefore   mishap = "die_before"  // killed after the grant, before the request
	dieAfter    mishap = "die_after"   // killed after the provider's success, before the commit
	dropAnswer  mishap = "drop_answer" // the provider does it and hangs up
	twice       mishap = "twice"       // the provider does it twice, then the agent is killed
	draft       mishap = "draft"       // the mail ends as a draft, then the agent is killed
	unreachable mishap = "unreachable" // nothing can be sent at all
)

// deadly mishaps end with a real SIGKILL.
func (m mishap) deadly() bool {
	return m == dieBefore || m == dieAfter || m == twice || m == draft
}

// step is one thing that the agent was asked to do.
type step struct {
	id               string
	tool             string
	subject          string
	amount, currency string
	args             string
	mishap           mishap
}

// script is the agent's afternoon. The first steps go well: they are what the
// positive controls find later.
func script() []step {
	return []step{
		{id: "welcome-mail", tool: "mail.send", subject: "Welcome mail to Ada", args: `{"to":"ada@example.com","subject":"Welcome aboard","text":"Good to have you."}`},
		{id: "onboarding-ticket", tool: "ticket.create", subject: "Ticket: laptop for Ada", args: `{"subject":"Laptop for Ada","text":"Please prepare a laptop by Monday."}`},
		{id: "welcome-charge", tool: "card.charge", subject: "Ada’s first month", amount: "49.00", currency: "EUR", args: `{"customer":"cus_ada","amount":4900,"currency":"EUR"}`},

		{id: "payout-supplier", tool: "bank.payout", subject: "Payout to Brightside Supplies", amount: "12480.00", currency: "EUR", args: `{"iban":"DE02120300000000202051","name":"Brightside Supplies","amount":"12480.00","reference":"INV-2209"}`, mishap: dieAfter},
		{id: "invoice-anna", tool: "mail.send", subject: "Invoice 2031 to Anna Berg", amount: "1890.00", currency: "EUR", args: `{"to":"anna.berg@example.com","subject":"Invoice 2031","text":"Please find invoice 2031 over 1,890.00 EUR.","invoice":2031}`, mishap: dieAfter},
		{id: "reminder-ben", tool: "mail.send", subject: "Second reminder to Ben Ode", args: `{"to":"ben.ode@example.com","subject":"Second reminder","text":"Invoice 1987 is still open.","invoice":1987}`, mishap: dieBefore},
		{id: "contract-cleo", tool: "mail.send", subject: "Signed contract to Cleo Park", args: `{"to":"cleo.park@example.com","subject":"Your signed contract","text":"Attached, both sides signed."}`, mishap: dropAnswer},
		{id: "offer-dana", tool: "mail.send", subject: "Offer to Dana Ruiz", args: `{"to":"dana.ruiz@example.com","subject":"Your offer","text":"Valid until Friday."}`, mishap: draft},
		{id: "escalate-outage", tool: "ticket.escalate", subject: "Escalate: checkout is down in region EU", args: `{"subject":"Checkout is down in EU","text":"Error rate 38 % since 14:02."}`, mishap: dieAfter},
		{id: "escalate-login", tool: "ticket.escalate", subject: "Escalate: customers can’t sign in", args: `{"subject":"Customers can’t sign in","text":"Reports from three regions."}`, mishap: dieBefore},
		{id: "refund-ticket", tool: "ticket.create", subject: "Ticket: refund for order 5512", args: `{"subject":"Refund order 5512","text":"Customer returned both items."}`, mishap: twice},
		{id: "access-ticket", tool: "ticket.create", subject: "Ticket: access for the new auditor", args: `{"subject":"Access for the new auditor","text":"Read-only, until March."}`, mishap: dieAfter},
		{id: "charge-renewal", tool: "card.charge", subject: "Renewal for Fox & Sons", amount: "240.00", currency: "EUR", args: `{"customer":"cus_fox","amount":24000,"currency":"EUR"}`, mishap: dieAfter},
		{id: "newsletter", tool: "mail.send", subject: "Newsletter to 1,204 readers", args: `{"to":"readers@lists.example.com","subject":"What’s new in November","text":"…"}`, mishap: dieBefore},
		{id: "fax-supplier", tool: "fax.send", subject: "Fax to the registry office", args: `{"to":"+49 30 1234567","pages":2}`, mishap: unreachable},
		{id: "board-report", tool: "report.mail", subject: "Quarterly report to the board", args: `{"to":"board@example.com","subject":"Q3 report","text":"Numbers attached."}`, mishap: dieBefore},
	}
}

// tools are the agent's tools as the journal knows them.
func tools() []journal.Tool {
	return []journal.Tool{
		{Name: "mail.send", Class: journal.ClassAtMostOnce, Provider: "mail", ClientTimeout: 2 * time.Second, IdentityFields: []string{"to", "subject"}},
		{Name: "report.mail", Class: journal.ClassAtMostOnce, Provider: "mail", ClientTimeout: 8 * time.Minute},
		{Name: "ticket.create", Class: journal.ClassJournalDeduped, Provider: "desk", ClientTimeout: 2 * time.Second},
		{Name: "ticket.escalate", Class: journal.ClassAtMostOnce, Provider: "desk", ClientTimeout: 2 * time.Second},
		{Name: "bank.payout", Class: journal.ClassAtMostOnce, Provider: "bank", ClientTimeout: 2 * time.Second, DisplayFields: []string{"name", "amount", "reference"}},
		{Name: "card.charge", Class: journal.ClassProviderIdempotent, Provider: "cards", KeyWindow: 30 * time.Minute, ClientTimeout: 2 * time.Second},
		{Name: "fax.send", Class: journal.ClassAtMostOnce, Provider: "fax", ClientTimeout: 2 * time.Second},
	}
}

// lease is short, so that a killed agent shows within seconds.
const lease = 3 * time.Second

// operation is what the tool is asked to do, in words.
func (s step) operation() string {
	switch s.tool {
	case "mail.send", "report.mail":
		return "send a mail"
	case "ticket.create":
		return "open a ticket"
	case "ticket.escalate":
		return "open an urgent ticket"
	case "bank.payout":
		return "pay out"
	case "card.charge":
		return "charge a card"
	}
	return "send a fax"
}

// call is the step as a worker asks for it. The key comes from run and step
// alone: the second attempt, in another process, makes the same one.
func (s step) call(run string) worker.Call {
	return worker.Call{Run: worker.Run{RootRun: run, Turn: s.id}, Tool: s.tool, Step: s.id, Operation: s.operation(), Subject: s.subject,
		Amount: s.amount, Currency: s.currency, Args: []byte(s.args), Lease: lease, Resume: []byte(`{"to":"` + flowName + `"}`)}
}
