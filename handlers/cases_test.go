package handlers

import (
	"fmt"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
)

// testNow is the journal's clock in every fixture.
func testNow() time.Time { return time.Date(2026, 11, 2, 3, 12, 45, 0, time.UTC) }

// caseID is the id of fixture n.
func caseID(n int) string { return fmt.Sprintf("01936f6e-0000-7000-8000-%012d", n) }

func before(d time.Duration) time.Time { return testNow().Add(-d) }

// newCase is an at-most-once mail of one sent attempt, parked three hours ago.
func newCase(n int, change ...func(*journal.Case)) journal.Case {
	key := fmt.Sprintf("run_01jbq%02d/notify/mail.send", n)
	k := journal.Case{
		Snapshot: journal.Snapshot{
			Effect: journal.Effect{
				ID: caseID(n), Key: key, Ref: journal.Ref("", key), Tool: "mail.send", Class: journal.ClassAtMostOnce, Provider: "sent-mail",
				ClientTimeout: 30 * time.Second, RootRun: fmt.Sprintf("run_01jbq%02d", n), RootRunStartedAt: before(4 * time.Hour), Step: "notify",
				Operation: "send invoice reminder", Subject: "Reminder for invoice 4711 to billing@northwind.example",
				Labels:      map[string]string{"customer": "Northwind", "invoice": "4711"},
				Args:        []byte(`{"to":"billing@northwind.example","subject":"Invoice 4711 is due","body":"Dear customer,\nplease pay 1250.00 EUR by Friday.","attempt_id":1970670598291982290,"vat":10.10}`),
				Fingerprint: "5f0c8a4be1f14c1f8a0d5b3dd3a1b2c4", FingerprintRule: 1, State: journal.StateParked, Version: 7, Attempt: 1, Issue: 1,
				ParkedReason: journal.ReasonAtMostOnce, CreatedAt: before(3*time.Hour + 4*time.Minute), StateAt: before(3 * time.Hour),
			},
			Attempts: []journal.Attempt{{
				Number: 1, Issue: 1, ClaimID: "c1", Token: "t1", Worker: "mailer-2", GrantedAt: before(3*time.Hour + 4*time.Minute),
				LeaseUntil: before(3*time.Hour + 3*time.Minute), SendBy: before(3*time.Hour + 3*time.Minute), Deadline: before(3*time.Hour + 2*time.Minute),
				ClientTimeout: 30 * time.Second, FencedAt: before(3 * time.Hour), Phase: journal.PhaseSent, ReportedAt: before(3*time.Hour + 2*time.Minute),
				Error: "read tcp 10.2.0.7:44120->10.9.0.25:587: i/o timeout",
			}},
			Budget: journal.Budget{Spent: 1, Limit: 6}, CanLook: true, Now: testNow(), Policy: journal.DefaultPolicy(),
		},
		Tool: journal.Tool{Name: "mail.send", Class: journal.ClassAtMostOnce, Provider: "sent-mail", IdentityFields: []string{"to", "subject"}},
		Events: []journal.Event{
			{Seq: 1, At: before(3*time.Hour + 4*time.Minute), Kind: journal.EventBegan, Attempt: 1, Actor: "worker:mailer-2"},
			{Seq: 2, At: before(3*time.Hour + 2*time.Minute), Kind: journal.EventReported, Attempt: 1, Actor: "worker:mailer-2", Detail: []byte(`{"phase":"sent","error":"i/o timeout","late":false}`)},
			{Seq: 3, At: before(3 * time.Hour), Kind: journal.EventFenced, Attempt: 1, Actor: "worker:mailer-2"},
			{Seq: 4, At: before(3 * time.Hour), Kind: journal.EventParked, Attempt: 1, Actor: "worker:mailer-2", Detail: []byte(`{"reason":"at_most_once"}`)},
		},
	}
	for _, f := range change {
		f(&k)
	}
	return k
}

// looked adds a look, and its evidence, that began ago.
func looked(v journal.Verdict, ago time.Duration, change ...func(*journal.Evidence)) func(*journal.Case) {
	return func(k *journal.Case) {
		seq := int64(10 + len(k.Evidence))
		e := journal.Evidence{
			ID: fmt.Sprintf("ev-%d", seq), Seq: seq, EffectID: k.Effect.ID, Adapter: "sent-mail", Kind: "imap", Version: "3", Verdict: v,
			AllPagesRead: true, Unrelated: 2, StartedAt: before(ago), FinishedAt: before(ago - 2*time.Second),
			WindowFrom: k.Effect.CreatedAt.Add(-time.Hour), WindowTo: before(ago),
			Negative:  journal.Control{Ran: true, Passed: true, Ref: "00000000000040008000000000000001", Detail: "0 matches"},
			Positive:  journal.Control{Ran: true, Passed: true, Detail: "1 match, committed 20 min earlier"},
			Scopes:    []journal.Scope{{Name: "Sent", Seen: true, Detail: "special-use \\Sent, 18 204 messages"}, {Name: "Archive", Seen: true}},
			Exchanges: []journal.Exchange{{Request: "UID SEARCH SINCE 1-Nov-2026 HEADER Message-ID " + k.Effect.Ref, Response: "* SEARCH 88123\nA3 OK", Took: 340 * time.Millisecond}},
			Digest:    strings.Repeat("ab", 32), RequestedBy: "schedule",
		}
		for _, f := range change {
			f(&e)
		}
		k.Evidence = append([]journal.Evidence{e}, k.Evidence...)
		k.Looks = append(k.Looks, journal.Look{ID: e.ID, Seq: e.Seq, Verdict: e.Verdict, Reason: e.Reason, CoversAttempt: e.CoversAttempt,
			StartedAt: e.StartedAt, LookAgainAt: e.LookAgainAt, Digest: e.Digest})
		k.Events = append(k.Events, journal.Event{Seq: seq, At: e.StartedAt, Kind: journal.EventEvidence, Actor: "collector",
			Detail: []byte(fmt.Sprintf(`{"verdict":%q,"reason":%q,"adapter":"sent-mail"}`, v, e.Reason))})
	}
}

func found(ago time.Duration) func(*journal.Case) {
	return looked(journal.Found, ago, func(e *journal.Evidence) {
		e.Explanation = "One message in Sent carries the reference, fetched again and compared byte for byte."
		e.Matches = []journal.Match{{ID: "<4711.5f0c@northwind.example>", URL: "https://mail.example.org/m/88123", Title: "Invoice 4711 is due", Status: "\\Seen",
			State: journal.MatchEffective, At: before(3*time.Hour + 3*time.Minute), Where: "Sent", Carrier: "Message-ID",
			Facts: []journal.MatchFact{{Name: "To", Value: "billing@northwind.example"}}}}
	})
}

func notFound(ago time.Duration) func(*journal.Case) {
	return looked(journal.NotFound, ago, func(e *journal.Evidence) {
		e.CoversAttempt = 1
		e.Explanation = "No message in any searched folder carries the reference."
	})
}

func tooEarly(ago, again time.Duration) func(*journal.Case) {
	return looked(journal.CannotTell, ago, func(e *journal.Evidence) {
		e.Reason, e.LookAgainAt = journal.CannotTooEarly, testNow().Add(again)
		e.Explanation = "The mailbox may still show it: its index lags by up to 5 minutes."
	})
}

// payment makes the case a provider-idempotent payment with a day's key window.
func payment(began time.Duration) func(*journal.Case) {
	return func(k *journal.Case) {
		e := &k.Effect
		e.Tool, e.Class, e.Provider, e.KeyWindow = "payment.capture", journal.ClassProviderIdempotent, "psp", 24*time.Hour
		e.Operation, e.Subject, e.Amount, e.Currency = "capture payment", "Order 80-1142, Ada Byron", "1250.00", "EUR"
		e.Args = []byte(`{"payment_intent":"pi_3Q8","amount":125000,"currency":"eur"}`)
		e.CreatedAt, e.ParkedReason = before(began), journal.ReasonNoUsefulLook
		a := &k.Attempts[0]
		a.GrantedAt, a.LeaseUntil, a.SendBy, a.Deadline = before(began), before(began-time.Minute), before(began-time.Minute), before(began-90*time.Second)
		a.FencedAt, a.ReportedAt, a.Worker = before(began-2*time.Minute), time.Time{}, "billing-1"
		a.Phase, a.Error = "", ""
		k.Tool = journal.Tool{Name: "payment.capture", Class: journal.ClassProviderIdempotent, Provider: "psp", IdentityFields: []string{"payment_intent"}}
	}
}

func ticket(k *journal.Case) {
	e := &k.Effect
	e.Tool, e.Class, e.Provider = "ticket.create", journal.ClassJournalDeduped, "helpdesk"
	e.Operation, e.Subject = "open ticket", "VPN of the Graz office is down"
	e.Args = []byte(`{"queue":"network","title":"VPN of the Graz office is down","priority":2}`)
	e.ParkedReason = journal.ReasonNoUsefulLook
}

func operator() journal.Actor {
	return journal.Actor{Issuer: "https://id.example.org", Subject: "u-17", Name: "Grace Hopper", Roles: []journal.Role{journal.RoleOperator}}
}

// decided adds a decision with its resolution.
func decided(verb journal.Verb, mode journal.ReissueMode, ago time.Duration) func(*journal.Case) {
	return func(k *journal.Case) {
		d := journal.Decision{ID: "d-1", EffectID: k.Effect.ID, Verb: verb, Mode: mode, Actor: operator(), Source: "page", ReasonCode: "evidence_not_found",
			Reason: "Checked the sent folder twice, the customer has not received it either.", At: before(ago), AuditSeq: 41, AssessmentSummary: "reissue"}
		r := journal.Resolution{ID: "r-1", Cursor: 41, EffectID: k.Effect.ID, Key: k.Effect.Key, By: "operator:u-17", Reason: d.Reason, At: d.At, Kind: journal.ResolutionKind(verb)}
		k.Effect.StateAt, k.Effect.OpenDelivery, k.Effect.SettledBy = d.At, true, "operator:u-17"
		switch verb {
		case journal.VerbReissue:
			expires := d.At.Add(time.Hour)
			o := journal.Order{ID: "o-1", DecisionID: d.ID, Mode: mode, Issue: 2, CreatedAt: d.At, ExpiresAt: expires}
			d.Order, k.Order = &o, &o
			r.OrderID, r.OrderExpiresAt = o.ID, &expires
			k.Effect.State, k.Effect.SettledBy = journal.StateReissue, ""
		case journal.VerbCloseLanded:
			k.Effect.State, d.ReasonCode = journal.StateCommitted, "evidence_found"
		case journal.VerbCloseNotLanded:
			k.Effect.State = journal.StateAbandoned
		}
		k.Decisions = append(k.Decisions, d)
		k.Resolutions = append(k.Resolutions, r)
		k.Events = append(k.Events, journal.Event{Seq: 40, At: d.At, Kind: journal.EventDecided, Actor: "operator:u-17", Detail: []byte(fmt.Sprintf(`{"verb":%q,"mode":%q}`, verb, mode))})
	}
}

func acked(ago time.Duration) func(*journal.Case) {
	return func(k *journal.Case) {
		at := before(ago)
		r := &k.Resolutions[len(k.Resolutions)-1]
		r.AckedAt, r.AckedBy = &at, "worker:mailer-3"
		k.Effect.OpenDelivery = false
	}
}

func pickedUp(ago time.Duration) func(*journal.Case) {
	return func(k *journal.Case) {
		k.Effect.State, k.Effect.Attempt, k.Effect.Issue = journal.StateIntent, 2, 2
		k.Attempts = append(k.Attempts, journal.Attempt{Number: 2, Issue: 2, OrderID: "o-1", Worker: "mailer-3", GrantedAt: before(ago),
			LeaseUntil: before(ago).Add(time.Minute), SendBy: before(ago).Add(time.Minute), Deadline: before(ago).Add(90 * time.Second)})
		o := *k.Order
		o.Attempt = 2
		k.Order = &o
	}
}

// set changes the row itself.
func set(f func(*journal.Effect)) func(*journal.Case) { return func(k *journal.Case) { f(&k.Effect) } }

func siblings(k *journal.Case) {
	k.Siblings = []journal.Sibling{
		{ID: caseID(90), Tool: "ticket.create", Operation: "open ticket", Subject: "Dunning case 4711", State: journal.StateCommitted, CreatedAt: before(3*time.Hour + 10*time.Minute)},
		{ID: caseID(91), Tool: "payment.refund", Operation: "refund", Subject: "Order 80-1142", Amount: "12.50", Currency: "EUR", State: journal.StateIntent, CreatedAt: before(3 * time.Hour)},
	}
}

// allCases is a dozen effects in all states, by name.
func allCases() []namedCase {
	padded := `{"to":"a@example.org` + strings.Repeat(" ", 5000) + `, mallory@evil.example","note":"safe\u202e` + "\u202egnp.exe\u200b" + `","body":"` + strings.Repeat("All work and no play. ", 400) + `THE END","big":1970670598291982290,"amt":10.10}`
	return []namedCase{
		{"found", newCase(1, found(7*time.Minute), siblings)},
		{"not found", newCase(2, tooEarly(2*time.Hour+50*time.Minute, -2*time.Hour), notFound(4*time.Minute), set(func(e *journal.Effect) { e.Subject = "Reminder for invoice 4712 to ap@contoso.example" }))},
		{"too early", newCase(3, tooEarly(40*time.Second, 4*time.Minute), set(func(e *journal.Effect) {
			e.Subject, e.CreatedAt = "Welcome mail to ada@example.org", before(3*time.Minute)
		}))},
		{"same key", newCase(4, payment(20*time.Hour+30*time.Minute), looked(journal.CannotTell, 30*time.Minute, func(e *journal.Evidence) {
			e.Reason, e.Explanation = journal.CannotProvider, "The search answered 503 three times."
		}))},
		{"window over", newCase(5, payment(26*time.Hour), looked(journal.CannotTell, time.Hour, func(e *journal.Evidence) {
			e.Reason, e.Explanation = journal.CannotScope, "The connected account is not visible to this key."
			e.Scopes = []journal.Scope{{Name: "platform", Seen: true}, {Name: "acct_12", Detail: "the key may not read it"}}
		}), set(func(e *journal.Effect) { e.Subject, e.Amount = "Order 80-1139, Alan T.", "89.90" }))},
		{"twice", newCase(6, ticket, looked(journal.Duplicate, 15*time.Minute, func(e *journal.Evidence) {
			e.Explanation = "Two tickets carry the reference."
			e.Matches = []journal.Match{{ID: "20391", URL: "https://rt.example.org/Ticket/Display.html?id=20391", Title: "VPN of the Graz office is down", Status: "open", State: journal.MatchEffective, Where: "network"},
				{ID: "20392", URL: "https://rt.example.org/Ticket/Display.html?id=20392", Title: "VPN of the Graz office is down", Status: "new", State: journal.MatchEffective, Where: "network"}}
		}))},
		{"no adapter", newCase(7, set(func(e *journal.Effect) {
			e.Tool, e.Operation, e.Subject, e.Provider = "sms.send", "send code", "Login code to +43 660 000 00 00", ""
		}), func(k *journal.Case) { k.CanLook = false })},
		{"no look", newCase(8, ticket, set(func(e *journal.Effect) {
			e.State, e.ParkedReason, e.CreatedAt, e.NextLookAt = journal.StateIntent, "", before(2*time.Minute), testNow()
			e.Subject = "Printer on floor 3 is out of toner"
		}))},
		{"ordered", newCase(9, notFound(20*time.Minute), decided(journal.VerbReissue, journal.NewKey, 15*time.Minute), set(func(e *journal.Effect) { e.Subject = "Contract to legal@fabrikam.example" }))},
		{"picked up", newCase(10, notFound(20*time.Minute), decided(journal.VerbReissue, journal.NewKey, 15*time.Minute), acked(20*time.Second), pickedUp(20*time.Second))},
		{"closed", newCase(11, found(30*time.Minute), decided(journal.VerbCloseLanded, "", 20*time.Minute))},
		{"settled", newCase(12, found(30*time.Minute), decided(journal.VerbCloseLanded, "", 20*time.Minute), acked(19*time.Minute))},
		{"contradicted", newCase(13, notFound(26*time.Hour), decided(journal.VerbCloseNotLanded, "", 25*time.Hour), acked(25*time.Hour), found(10*time.Minute),
			set(func(e *journal.Effect) {
				e.State, e.Contradicted, e.ParkedReason = journal.StateParked, true, journal.ReasonContradicted
				e.CreatedAt = before(27 * time.Hour)
			}))},
		{"double", newCase(14, payment(3*time.Hour), set(func(e *journal.Effect) {
			e.State, e.ProbablyDouble, e.SettledBy, e.ProviderID, e.Result = journal.StateCommitted, true, "worker", "pi_3Q8", []byte(`{"id":"pi_3Q8","amount":125000}`)
		}))},
		{"refused", newCase(15, func(k *journal.Case) {
			k.Attempts[0].Phase, k.Attempts[0].Final, k.Attempts[0].Error, k.Attempts[0].Status = journal.PhaseRefused, true, "550 5.1.1 no such user", 550
			k.Effect.ParkedReason, k.Effect.Subject = journal.ReasonRefusedExposed, "Reminder to nobody@example.org"
		})},
		{"gave up", newCase(16, ticket, func(k *journal.Case) {
			k.Effect.State, k.Effect.GaveUp, k.Effect.Subject = journal.StateIntent, true, "Badge for the new colleague"
			k.Attempts[0].Phase, k.Attempts[0].Error = journal.PhaseNotSent, "dial tcp 10.9.0.30:443: connect: connection refused"
			k.Budget.Spent = 6
		})},
		{"rejected", newCase(17, set(func(e *journal.Effect) {
			e.State, e.SettledBy, e.Refusal = journal.StateRejected, "late_refusal", "402 card_declined"
		}))},
		{"padded", newCase(18, tooEarly(50*time.Minute, -30*time.Minute), set(func(e *journal.Effect) {
			e.Subject, e.Args = "Quarterly report\u202efdp.exe to\u200b board@example.org", []byte(padded)
		}))},
		{"live", newCase(19, func(k *journal.Case) {
			k.Effect.State, k.Effect.ParkedReason, k.Effect.CreatedAt = journal.StateIntent, "", before(10*time.Second)
			k.Attempts[0] = journal.Attempt{Number: 1, Issue: 1, Worker: "mailer-2", GrantedAt: before(10 * time.Second), LeaseUntil: testNow().Add(50 * time.Second),
				SendBy: testNow().Add(50 * time.Second), Deadline: testNow().Add(80 * time.Second)}
			k.Events = k.Events[:1]
		})},
	}
}

type namedCase struct {
	name string
	k    journal.Case
}

// byName returns the fixture of that name.
func byName(name string) journal.Case {
	for _, n := range allCases() {
		if n.name == name {
			return n.k
		}
	}
	panic("no fixture named " + name)
}
