package guide_test

import (
	"fmt"

	"github.com/landedhq/landed/providers/evidence/guide"
)

func Example() {
	g, err := guide.Of("stripe")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g.Tool.Class, g.Tool.KeyWindow)
	for _, f := range g.Fields {
		fmt.Println(guide.PlaceName(f.Place), f.Name, f.Value)
	}
	// Output:
	// provider_idempotent 24h0m0s
	// form parameter metadata[landed_ref] {ref}
	// request header Idempotency-Key {provider key}
}
