package packs_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/evidencetest"
	"github.com/landedhq/landed/providers/evidence/packs"
	"github.com/landedhq/landed/providers/evidence/packs/packstest"
)

func TestEveryPackIsTested(t *testing.T) {
	t.Parallel()
	var have []string
	for _, d := range packstest.Dialects() {
		have = append(have, d.Pack)
	}
	for _, name := range packs.Names() {
		if !slices.Contains(have, name) {
			t.Errorf("the pack %s has no dialect in packstest", name)
		}
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, d := range packstest.Dialects() {
		t.Run(d.Pack, func(t *testing.T) {
			t.Parallel()
			evidencetest.Conformance(t, packstest.Fixture(t, d))
		})
	}
}

// cleanEmpty is what the judge may take for NOT_FOUND: no misbehaviour of a
// provider may ever lead to it.
func cleanEmpty(a evidence.Answer, err error) bool {
	if err != nil || len(a.Matches) > 0 || a.Unrelated > 0 || !a.AllPagesRead {
		return false
	}
	for _, s := range a.Scopes {
		if !s.Seen {
			return false
		}
	}
	return true
}

func TestNoFaultReadsAsNotFound(t *testing.T) {
	t.Parallel()
	rows := []struct {
		fault packstest.Fault
		kinds []evidence.FaultKind // of the error; nil = an answer that can't be taken for a clean one
		skip  func(packstest.Dialect) bool
	}{
		{packstest.FaultIgnoreFilter, nil, func(d packstest.Dialect) bool { return d.NoFilter }},
		{packstest.FaultEndless, nil, func(d packstest.Dialect) bool { return d.Whole }},
		{packstest.FaultRateLimit, []evidence.FaultKind{evidence.FaultRateLimited}, nil},
		{packstest.FaultOKError, []evidence.FaultKind{evidence.FaultBadAnswer, evidence.FaultForbidden, evidence.FaultAuth, evidence.FaultUnavailable, evidence.FaultRefused}, nil},
		{packstest.FaultRedirect, []evidence.FaultKind{evidence.FaultBadAnswer}, nil},
		{packstest.FaultHuge, []evidence.FaultKind{evidence.FaultTooLarge}, nil},
		{packstest.FaultGzip, []evidence.FaultKind{evidence.FaultBadAnswer}, nil},
		{packstest.FaultDown, []evidence.FaultKind{evidence.FaultUnavailable}, nil},
		{packstest.FaultGarbage, []evidence.FaultKind{evidence.FaultBadAnswer}, nil},
		{packstest.FaultAuth, []evidence.FaultKind{evidence.FaultAuth, evidence.FaultForbidden}, nil},
		{packstest.FaultForbidden, []evidence.FaultKind{evidence.FaultForbidden, evidence.FaultAuth}, nil},
		{packstest.FaultEndpointGone, []evidence.FaultKind{evidence.FaultRefused, evidence.FaultBadAnswer}, nil}, // T-10
	}
	for _, d := range packstest.Dialects() {
		for _, row := range rows {
			if row.skip != nil && row.skip(d) {
				continue
			}
			t.Run(d.Pack+"/"+string(row.fault), func(t *testing.T) {
				t.Parallel()
				f := packstest.New(t, d)
				for range 3 {
					f.Put(journal.RandomRef(), "", time.Now())
				}
				// Outside the window: what a scan must not bring.
				f.Put(journal.RandomRef(), "", time.Now().Add(-48*time.Hour))
				f.SetFault(row.fault)
				a, err := f.Find(t, journal.RandomRef())
				if cleanEmpty(a, err) {
					t.Fatalf("it reads as not found: %+v", a)
				}
				checkFault(t, err, row.kinds, row.fault)
			})
		}
	}
}

func checkFault(t *testing.T, err error, kinds []evidence.FaultKind, fault packstest.Fault) {
	t.Helper()
	if kinds == nil {
		return
	}
	var pe *evidence.ProviderError
	if !errors.As(err, &pe) || !slices.Contains(kinds, pe.Kind) {
		t.Fatalf("error %v, want one of kind %v", err, kinds)
	}
	if fault == packstest.FaultRateLimit && pe.RetryAfter != 7*time.Second {
		t.Errorf("retry after %v, want 7s", pe.RetryAfter)
	}
	if pe.Detail == "" || len(pe.Exchanges) == 0 {
		t.Errorf("detail %q, %d exchanges: an operator needs both", pe.Detail, len(pe.Exchanges))
	}
}

// A provider that lags shows nothing at first: adapters can't see that, the
// declared lag covers it, and the object is found once it shows.
func TestLag(t *testing.T) {
	t.Parallel()
	for _, d := range packstest.Dialects() {
		t.Run(d.Pack, func(t *testing.T) {
			t.Parallel()
			f := packstest.New(t, d)
			ref := journal.RandomRef()
			f.Put(ref, "", time.Now())
			f.SetFault(packstest.FaultLag)
			if a, err := f.Find(t, ref); err != nil || len(a.Matches) != 0 {
				t.Fatalf("while it lags: %d matches, %v", len(a.Matches), err)
			}
			sheet := f.Adapter(t).Sheet()
			if sheet.Class != evidence.L1 && sheet.IndexLag == 0 {
				t.Error("no index lag is declared")
			}
			f.SetFault(packstest.FaultNone)
			if a, err := f.Find(t, ref); err != nil || len(a.Matches) != 1 {
				t.Errorf("afterwards: %d matches, %v", len(a.Matches), err)
			}
		})
	}
}

// A provider that fails every second request never gives half an answer.
func TestFlap(t *testing.T) {
	t.Parallel()
	for _, d := range packstest.Dialects() {
		t.Run(d.Pack, func(t *testing.T) {
			t.Parallel()
			f := packstest.New(t, d)
			ref := journal.RandomRef()
			f.Put(ref, "", time.Now())
			f.SetFault(packstest.FaultFlap)
			for range 3 {
				if a, err := f.Find(t, ref); err == nil && len(a.Matches) != 1 {
					t.Errorf("an answer with %d matches between failures", len(a.Matches))
				}
			}
		})
	}
}

// The writer's side renders, and carries the reference.
func TestInstructions(t *testing.T) {
	t.Parallel()
	for _, d := range packstest.Dialects() {
		t.Run(d.Pack, func(t *testing.T) {
			t.Parallel()
			f := packstest.New(t, d)
			in, err := f.Adapter(t).Instruction(journal.RandomRef(), 1)
			if err != nil || in.About == "" || in.Request == "" || len(in.Fields) == 0 {
				t.Errorf("%+v, %v", in, err)
			}
		})
	}
}

// What a pack takes for granted is read whole, and nothing after it.
func TestUnconfirmed(t *testing.T) {
	t.Parallel()
	for _, name := range packs.Names() {
		text := packs.Unconfirmed(name)
		if name == "redmine.issue" || name == "status.endpoint" { // tested against the real one; no vendor
			if text != "" {
				t.Errorf("%s: %q", name, text)
			}
			continue
		}
		if len(text) < 20 || !strings.HasSuffix(text, ".") || strings.Contains(text, "#") || strings.Contains(text, "adapter:") {
			t.Errorf("%s: %q", name, text)
		}
	}
	if packs.Unconfirmed("fax") != "" {
		t.Error("a pack that does not exist says something")
	}
}
