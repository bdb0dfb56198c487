package stripe_test

import (
	"testing"

	staged "github.com/landedhq/landed/journal/worker/staged/stripe"
	"github.com/landedhq/landed/providers/evidence/stripe"
)

// What the worker's library writes and journals is what the adapter looks for:
// neither imports the other.
func TestTheWorkersLibraryWritesWhatIsLookedFor(t *testing.T) {
	t.Parallel()
	kind, _, err := stripe.HandleOf(stripe.PaymentIntents, "pi_1")
	if err != nil {
		t.Fatal(err)
	}
	for _, same := range [][2]string{
		{stripe.DefaultMetadataKey, staged.DefaultMetadataKey}, {kind, staged.HandleIntent},
	} {
		if same[0] != same[1] {
			t.Errorf("the adapter looks for %q, the worker's library writes %q", same[0], same[1])
		}
	}
}
