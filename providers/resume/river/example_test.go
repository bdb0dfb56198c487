package river_test

import (
	"fmt"

	"github.com/landedhq/landed/providers/resume/river"
)

func Example() {
	t, err := river.Config{Name: "river", DSN: func() (string, error) { return "postgres://landed@db.internal/orders", nil }}.Open()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Close()
	fmt.Println(t.Check([]byte(`{"to": "river", "kind": "refund", "queue": "payments", "args": {"order": "A1"}}`)))
	fmt.Println(t.Check([]byte(`{"to": "river", "queue": "payments"}`)))
	// Output:
	// <nil>
	// the effect's resume names no kind of job: give it in "kind"
}
