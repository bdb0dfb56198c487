package jmap_test

import (
	"testing"

	staged "github.com/landedhq/landed/journal/worker/staged/jmap"
	"github.com/landedhq/landed/providers/evidence/jmap"
)

// What the worker's library writes and journals is what the adapter looks for:
// neither imports the other.
func TestTheWorkersLibraryWritesWhatIsLookedFor(t *testing.T) {
	t.Parallel()
	for _, same := range [][2]string{
		{jmap.HandleEmail, staged.HandleEmail}, {jmap.DefaultRefHeader, staged.DefaultRefHeader}, {jmap.DefaultDomain, staged.DefaultDomain},
	} {
		if same[0] != same[1] {
			t.Errorf("the adapter looks for %q, the worker's library writes %q", same[0], same[1])
		}
	}
}
