package jira

import (
	"encoding/json"
	"testing"
)

// FuzzPage: whatever Jira sends, it is a page that can be shown or no page.
func FuzzPage(f *testing.F) {
	f.Add([]byte(`{"issues":[{"id":"1","key":"OPS-1","fields":{"labels":["landed-x"],"created":"2026-01-02T03:04:05.000+0100","status":{"name":"x"},"resolution":null},"properties":{"landed":{"ref":"x"}}}],"nextPageToken":"a","isLast":false}`))
	f.Add([]byte(`{"issues":[{}, {"fields":{}}, {"properties":{"landed":"x"}}],"isLast":null}`))
	f.Add([]byte(`{"issues":[{"fields":{"created":1}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p page
		if json.Unmarshal(b, &p) != nil {
			return
		}
		c := Config{}.withDefaults()
		if p.shown(c) == "" {
			t.Error("nothing is shown")
		}
		if p.Issues == nil {
			return
		}
		for _, i := range *p.Issues {
			if i.whole() && (!validID(i.ID) || i.Fields.Created.IsZero()) {
				t.Errorf("issue %+v counts as whole", i)
			}
			_ = i.property(c.PropertyKey)
		}
	})
}

func TestTimesAsJiraWritesThem(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"2026-01-02T03:04:05.678+0100"`: "2026-01-02T02:04:05.678Z",
		`"2026-01-02T03:04:05.000-0530"`: "2026-01-02T08:34:05Z",
		`"2026-01-02T03:04:05Z"`:         "2026-01-02T03:04:05Z",
		`"2026-01-02"`:                   "",
		`null`:                           "",
		`5`:                              "",
	} {
		var at jiraTime
		err := json.Unmarshal([]byte(in), &at)
		if got := at.Format("2006-01-02T15:04:05.999Z07:00"); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%s: %s, %v; want %q", in, got, err, want)
		}
	}
}
