package gmail_test

import (
	"testing"

	"github.com/landedhq/landed/journal"
	staged "github.com/landedhq/landed/journal/worker/staged/gmail"
	"github.com/landedhq/landed/providers/evidence/gmail"
	"github.com/landedhq/landed/providers/evidence/mailref"
)

// What the worker's library writes and journals is what the adapter looks for:
// neither imports the other.
func TestTheWorkersLibraryWritesWhatIsLookedFor(t *testing.T) {
	t.Parallel()
	ref := journal.RandomRef()
	line, err := gmail.BodyLine(ref)
	if err != nil {
		t.Fatal(err)
	}
	for _, same := range [][2]string{
		{gmail.HandleDraft, staged.HandleDraft}, {gmail.HandleThread, staged.HandleThread},
		{mailref.DefaultHeader, staged.DefaultRefHeader}, {mailref.DefaultDomain, staged.DefaultDomain}, {line, staged.BodyLine(ref)},
	} {
		if same[0] != same[1] {
			t.Errorf("the adapter looks for %q, the worker's library writes %q", same[0], same[1])
		}
	}
}
