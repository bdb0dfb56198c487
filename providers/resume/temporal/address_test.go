package temporal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddressIsReadStrictly(t *testing.T) {
	t.Parallel()
	const run = "0197f0a0-0000-7000-8000-000000000001"
	for _, row := range []struct {
		name, raw string
		want      address
		err       string
	}{
		{"workflow only", `{"to":"t","workflow_id":"w"}`, address{To: "t", WorkflowID: "w", Signal: "landed"}, ""},
		{"everything for a signal", `{"to":"t","workflow_id":"w","run_id":"` + run + `","signal":"s"}`, address{To: "t", WorkflowID: "w", RunID: run, Signal: "s"}, ""},
		{"everything for an update", `{"to":"t","workflow_id":"w","first_run_id":"` + run + `","update":"u"}`, address{To: "t", WorkflowID: "w", FirstRunID: run, Update: "u"}, ""},
		{"nothing", ``, address{}, "says nothing of where"},
		{"no workflow", `{"to":"t"}`, address{}, "names no workflow"},
		{"unknown member", `{"to":"t","workflow_id":"w","workflowId":"w"}`, address{}, "workflowId"},
		{"not an object", `["w"]`, address{}, "can't be read"},
		{"both", `{"to":"t","workflow_id":"w","signal":"s","update":"u"}`, address{}, "name one"},
		{"run id is none", `{"to":"t","workflow_id":"w","run_id":"17"}`, address{}, `run_id "17" is not a run id`},
		{"first run for a signal", `{"to":"t","workflow_id":"w","first_run_id":"` + run + `"}`, address{}, "for updates only"},
		{"long workflow id", `{"to":"t","workflow_id":"` + strings.Repeat("w", 1001) + `"}`, address{}, "1001 bytes"},
		{"slash in the workflow id", `{"to":"t","workflow_id":"order/17"}`, address{}, "holds a slash"},
		{"slash in the signal", `{"to":"t","workflow_id":"w","signal":"a/b"}`, address{}, "holds a slash"},
		{"control character", `{"to":"t","workflow_id":"a\u0000b"}`, address{}, "control characters"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseAddress([]byte(row.raw))
			if row.err != "" {
				if err == nil || !strings.Contains(err.Error(), row.err) {
					t.Fatalf("error %v, want one that says %q", err, row.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(row.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
