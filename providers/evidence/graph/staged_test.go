package graph_test

import (
	"testing"

	staged "github.com/landedhq/landed/journal/worker/staged/graph"
	"github.com/landedhq/landed/providers/evidence/graph"
	"github.com/landedhq/landed/providers/evidence/mailref"
)

// What the worker's library writes and journals is what the adapter looks for:
// neither imports the other.
func TestTheWorkersLibraryWritesWhatIsLookedFor(t *testing.T) {
	t.Parallel()
	for _, same := range [][2]string{
		{graph.HandleMessage, staged.HandleMessage}, {graph.Property, staged.Property}, {mailref.DefaultHeader, staged.DefaultRefHeader},
	} {
		if same[0] != same[1] {
			t.Errorf("the adapter looks for %q, the worker's library writes %q", same[0], same[1])
		}
	}
}
