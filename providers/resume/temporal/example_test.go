package temporal_test

import (
	"fmt"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/resume/temporal"
)

func ExampleConfig_Open() {
	target, err := temporal.Config{
		Name: "temporal", URL: "https://temporal.internal:7243", Namespace: "orders", APIKey: evidence.Fixed("secret"),
	}.Open()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(target.Name(), target.Check([]byte(`{"to": "temporal", "workflow_id": "order-17"}`)))
	fmt.Println(target.Check([]byte(`{"to": "temporal", "workflow": "order-17"}`)))
	// Output:
	// temporal <nil>
	// the effect's resume can't be read: json: unknown field "workflow"
}
