package recipes_test

import (
	"fmt"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/resume/recipe"
	"github.com/landedhq/landed/providers/resume/recipes"
)

// A target is opened from a recipe's name, its parameters and its secrets. An
// effect's address is checked before anything is sent.
func Example() {
	target, err := recipes.Open("inngest.signal", recipe.Config{
		Name:    "workflows",
		Secrets: map[string]evidence.Secret{"signing_key": evidence.Fixed("signkey-prod-0123456789abcdef")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(target.Name(), target.Sheet().Kind, target.Sheet().Confirms)
	fmt.Println(target.Check([]byte(`{"to": "workflows", "signal": "landed/order-17/charge"}`)))
	fmt.Println(target.Check([]byte(`{"to": "workflows", "signl": "landed/order-17/charge"}`)))
	// Output:
	// workflows recipe/inngest.signal true
	// <nil>
	// the effect's resume: "signl" is not known, inngest.signal has signal
	// the effect's resume: signal is missing: the signal's name: one for each wait, e.g. landed/ and the effect's key
}
