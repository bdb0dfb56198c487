package dbos_test

import (
	"fmt"

	"github.com/landedhq/landed/providers/resume/dbos"
)

func Example() {
	t, err := dbos.Config{Name: "dbos", DSN: func() (string, error) { return "postgres://landed@db.internal/orders", nil }}.Open()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Close()
	fmt.Println(t.Check([]byte(`{"to": "dbos", "workflow_id": "order-17"}`)))
	fmt.Println(t.Check([]byte(`{"to": "dbos", "topic": "landed"}`)))
	// Output:
	// <nil>
	// the effect's resume names no workflow: give its id in "workflow_id"
}
