package definition

import (
	"strings"
	"testing"
)

func TestRedacted(t *testing.T) {
	t.Parallel()
	x, err := DecodeJSON([]byte(`{"issues":[{"id":1,"description":"private","author":{"email":"a@b.c","name":"Kim"}}],"Email":"x@y.z","meta":{"deep":{"email":"q"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name  string
		paths []string
		gone  []string
		kept  []string
	}{
		{"one place", []string{"issues.*.description"}, []string{"private"}, []string{"a@b.c", "Kim"}},
		{"anywhere", []string{"**.email"}, []string{"a@b.c", "x@y.z", `"q"`}, []string{"private", "Kim"}},
		{"a whole branch", []string{"issues"}, []string{"private", "Kim"}, []string{"x@y.z"}},
		{"several", []string{"**.name", "meta.deep"}, []string{"Kim", `"q"`}, []string{"private"}},
		{"below anything, anywhere", []string{"issues.**.email"}, []string{"a@b.c"}, []string{"x@y.z"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var ps []RedactPath
			for _, p := range row.paths {
				rp, err := ParseRedact(p)
				if err != nil {
					t.Fatal(err)
				}
				ps = append(ps, rp)
			}
			got := Redacted(ps, x)
			for _, g := range row.gone {
				if strings.Contains(got, g) {
					t.Errorf("%s is kept: %s", g, got)
				}
			}
			for _, k := range row.kept {
				if !strings.Contains(got, k) {
					t.Errorf("%s is lost: %s", k, got)
				}
			}
		})
	}
	if _, err := ParseRedact("a..b"); err == nil {
		t.Error("an empty segment was taken")
	}
}
