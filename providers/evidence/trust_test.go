package evidence

import (
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
)

func TestTrust(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		spoil  func(f *Facts, s *Sheet)
		reason string // "" = believed
	}{
		{"everything holds", func(*Facts, *Sheet) {}, ""},
		{"a long lag", func(_ *Facts, s *Sheet) { s.IndexLag, s.ProcessingHorizon = time.Hour, 72*time.Hour }, ""},
		{"no canary", func(f *Facts, _ *Sheet) { f.Positive = journal.Control{Detail: "none yet"} }, journal.CannotControl},
		{"the canary is not found", func(f *Facts, _ *Sheet) { f.Positive.Passed = false }, journal.CannotControl},
		{"the filter is ignored", func(f *Facts, _ *Sheet) { f.Answer.Unrelated = 3 }, journal.CannotFilter},
		{"a place that can't be seen", func(f *Facts, _ *Sheet) { f.Answer.Scopes[0].Seen = false }, journal.CannotScope},
		{"pages left", func(f *Facts, _ *Sheet) { f.Answer.AllPagesRead = false }, journal.CannotTruncated},
		{"a Sent folder that the path does not fill", func(_ *Facts, s *Sheet) { s.Conclusive = false }, journal.CannotScope},
		{"no answer", func(f *Facts, _ *Sheet) { f.Err = &ProviderError{Kind: FaultAuth} }, journal.CannotProvider},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, s, _ := clear()
			tt.spoil(&f, &s)
			if believed, reason, _ := Trust(f, s); believed != (tt.reason == "") || reason != tt.reason {
				t.Errorf("believed %v, reason %q; want %q", believed, reason, tt.reason)
			}
		})
	}
}
