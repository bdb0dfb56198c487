package rt_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/rt"
	"github.com/landedhq/landed/providers/evidence/rt/rttest"
)

func realConfig(s *rttest.Server, account string) rt.Config {
	return rt.Config{BaseURL: s.URL, Token: evidence.Fixed(s.Token(account)), Queue: rttest.Queue, AllowPrivate: true, AllowPlainHTTP: true}
}

// TestRealServer runs everything that only a real RT can prove. One server
// serves all parts: starting one takes seconds.
func TestRealServer(t *testing.T) {
	t.Parallel()
	s := rttest.Start(t, rttest.Options{})
	// First: the transcript counts tickets from 1.
	t.Run("transcript", func(t *testing.T) { replayOnRealServer(t, s) })
	t.Run("others", func(t *testing.T) {
		for _, c := range []struct {
			name string
			run  func(*testing.T, *rttest.Server)
		}{
			{"conformance", conformOnRealServer},
			{"missing rights never read as a miss", realRights},
			{"T08 deleted ticket", realDeleted},
			{"merged ticket", realMerged},
			{"moved ticket", realMoved},
			{"P08 queue with a quote", realQuoted},
			{"queue by id", realQueueByID},
			{"T05 misspelt field", realMisspelt},
			{"field that the worker may not set", realMute},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(t, s)
			})
		}
	})
}

// TestRealServerHoldsRowsBack has RT leave rows out after the query.
func TestRealServerHoldsRowsBack(t *testing.T) {
	t.Parallel()
	s := rttest.Start(t, rttest.Options{HoldBack: true})
	ref := journal.RandomRef()
	s.Create(t, rttest.AccountWorker, rttest.Queue, "order", ref)

	a := mustLook(t, realConfig(s, rttest.AccountReader), journal.RandomRef())
	if u := strings.Join(unseen(a), "; "); !strings.Contains(u, "held back") {
		t.Errorf("a miss without a total: unseen %q", u)
	}
	if a := mustLook(t, realConfig(s, rttest.AccountReader), ref); len(a.Matches) != 1 || !a.AllPagesRead {
		t.Errorf("matches %d, all pages %v; want 1, true", len(a.Matches), a.AllPagesRead)
	}
	if a := mustLook(t, realConfig(s, rttest.AccountGlobal), journal.RandomRef()); len(unseen(a)) != 0 {
		t.Errorf("with global rights a miss is complete, yet unseen %v", unseen(a))
	}
}

func realRights(t *testing.T, s *rttest.Server) {
	ref := journal.RandomRef()
	s.Create(t, rttest.AccountWorker, rttest.Queue, "order", ref)
	for _, row := range []struct {
		account string
		kind    evidence.FaultKind
		want    string
	}{
		{rttest.AccountNoQueue, evidence.FaultForbidden, "SeeQueue"},
		{rttest.AccountNoField, evidence.FaultForbidden, "SeeCustomField"},
		{rttest.AccountNothing, evidence.FaultForbidden, "SeeQueue"},
		{rttest.AccountNoShow, "", "ShowTicket"},
	} {
		t.Run(row.account, func(t *testing.T) {
			a, err := look(t, realConfig(s, row.account), ref)
			checkRights(t, a, err, row.kind, row.want)
		})
	}
}

func realDeleted(t *testing.T, s *rttest.Server) {
	ref := journal.RandomRef()
	s.Delete(t, s.Create(t, rttest.AccountWorker, rttest.Queue, "order", ref))
	a := mustLook(t, realConfig(s, rttest.AccountReader), ref)
	if len(a.Matches) != 1 || a.Matches[0].Status != "deleted" || a.Matches[0].State != journal.MatchNotEffective {
		t.Errorf("matches %+v, want the deleted one, not effective", a.Matches)
	}
}

func realMerged(t *testing.T, s *rttest.Server) {
	ref := journal.RandomRef()
	id := s.Create(t, rttest.AccountWorker, rttest.Queue, "order", ref)
	into := s.Create(t, rttest.AccountWorker, rttest.Queue, "the other", journal.RandomRef())
	s.Merge(t, id, into)
	s.SetStatus(t, into, "rejected")
	a := mustLook(t, realConfig(s, rttest.AccountReader), ref)
	if len(a.Matches) != 1 {
		t.Fatalf("%d matches, want 1; unseen %v", len(a.Matches), unseen(a))
	}
	m := a.Matches[0]
	if m.ID != id || m.Status != "rejected" || m.State != journal.MatchNotEffective || facts(m)["merged into ticket"] != into {
		t.Errorf("match %+v, want ticket %s, rejected, merged into %s", m, id, into)
	}
}

func realMoved(t *testing.T, s *rttest.Server) {
	// To a queue with the field, and to one without.
	ref := journal.RandomRef()
	id := s.Create(t, rttest.AccountWorker, rttest.Queue, "order", ref)
	s.Move(t, id, rttest.QueueUnquoted)
	a := mustLook(t, realConfig(s, rttest.AccountReader), ref)
	if len(a.Matches) != 1 || a.Matches[0].Where != "queue "+rttest.QueueUnquoted {
		t.Errorf("matches %+v, want it in %s", a.Matches, rttest.QueueUnquoted)
	}
	s.Move(t, id, rttest.QueueArchive)
	a = mustLook(t, realConfig(s, rttest.AccountGlobal), ref)
	if u := strings.Join(unseen(a), "; "); len(a.Matches) != 0 || !strings.Contains(u, "ticket "+id+" does not show field") {
		t.Errorf("matches %v, unseen %q: it answers to the reference and must not read as a miss", a.Matches, u)
	}
}

func realQuoted(t *testing.T, s *rttest.Server) {
	ref := journal.RandomRef()
	c := realConfig(s, rttest.AccountReader)
	c.Queue = rttest.QueueQuoted
	other := s.Create(t, rttest.AccountWorker, rttest.QueueUnquoted, "in the neighbour's queue", journal.RandomRef())
	a := mustLook(t, c, ref)
	// No ticket is in the quoted queue yet: stripping the quote would show the neighbour's.
	if u := strings.Join(unseen(a), "; "); !strings.Contains(u, "any ticket of queue "+rttest.QueueQuoted) {
		t.Errorf("unseen %q: ticket %s of the neighbour's queue was taken for one of ours", u, other)
	}
	s.Create(t, rttest.AccountWorker, rttest.QueueQuoted, "order", ref)
	a = mustLook(t, c, ref)
	if len(a.Matches) != 1 || a.Matches[0].Where != "queue "+rttest.QueueQuoted {
		t.Errorf("matches %+v", a.Matches)
	}
	if a := mustLook(t, c, journal.RandomRef()); len(unseen(a)) != 0 {
		t.Errorf("unseen %v", unseen(a))
	}
}

func realQueueByID(t *testing.T, s *rttest.Server) {
	ref := journal.RandomRef()
	s.Create(t, rttest.AccountWorker, strconv.Itoa(s.Queues[rttest.QueueNonASCII]), "order", ref)
	c := realConfig(s, rttest.AccountReader)
	c.Queue = strconv.Itoa(s.Queues[rttest.QueueNonASCII])
	a := mustLook(t, c, ref)
	if len(a.Matches) != 1 || a.Matches[0].Where != "queue "+rttest.QueueNonASCII {
		t.Errorf("matches %+v", a.Matches)
	}
}

func realMisspelt(t *testing.T, s *rttest.Server) {
	ref := journal.RandomRef()
	s.Create(t, rttest.AccountWorker, rttest.Queue, "order", ref)
	for _, field := range []string{"Landed  Ref", "landed ref", "Landed Ref'", "x' OR Queue = 'Desk"} {
		c := realConfig(s, rttest.AccountReader)
		c.Field = field
		a, err := look(t, c, ref)
		checkRights(t, a, err, evidence.FaultForbidden, "is not applied")
	}
	c := realConfig(s, rttest.AccountReader)
	c.Queue = "desk" // RT itself takes it for Desk
	_, err := look(t, c, ref)
	if pe := fault(t, err); pe.Kind != evidence.FaultRefused {
		t.Errorf("fault %v, want refused", pe)
	}
}

// realMute shows why CreateBody warns: RT answers 201 and drops the field.
func realMute(t *testing.T, s *rttest.Server) {
	ref := journal.RandomRef()
	s.Create(t, rttest.AccountMute, rttest.Queue, "order", ref)
	if a := mustLook(t, realConfig(s, rttest.AccountReader), ref); len(a.Matches) != 0 {
		t.Errorf("RT kept a field that the account may not set: the warning is out of date (%+v)", a.Matches)
	}
}
