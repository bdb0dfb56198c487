package rt

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestRecordID(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`7`: "7", `"7"`: "7", `{"id":"7","type":"ticket"}`: "7", `{"id":7}`: "7", `""`: "", `null`: "",
		`"7a"`: "!", `"../1"`: "!", `-7`: "!", `7.5`: "!", `[7]`: "!", `{}`: "", `"1234567890123456789"`: "!", `true`: "!",
	} {
		var id recordID
		err := json.Unmarshal([]byte(in), &id)
		if got := string(id); want == "!" && err == nil || want != "!" && (err != nil || got != want) {
			t.Errorf("%s: %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestFieldSetHolds(t *testing.T) {
	t.Parallel()
	ref := strings.Repeat("ab", 16)
	for _, c := range []struct {
		name, in     string
		shown, equal bool
	}{
		{"equal", `[{"id":"2","values":["` + ref + `"]}]`, true, true},
		{"one of several", `[{"id":"2","values":["x","` + ref + `"]}]`, true, true},
		{"upper case", `[{"id":"2","values":["` + strings.ToUpper(ref) + `"]}]`, true, false},
		{"longer", `[{"id":"2","values":["` + ref + ` "]}]`, true, false},
		{"no value", `[{"id":"2","values":[]}]`, true, false},
		{"values null", `[{"id":"2","values":null}]`, true, false},
		{"an image", `[{"id":"2","values":[{"filename":"` + ref + `"}]}]`, true, false},
		{"another field", `[{"id":"3","name":"Landed Ref","values":["` + ref + `"]}]`, false, false},
		{"no fields", `[]`, false, false},
		{"empty string", `""`, false, false},
	} {
		var f fieldSet
		if err := json.Unmarshal([]byte(c.in), &f); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if shown, equal := f.holds("2", ref); shown != c.shown || equal != c.equal {
			t.Errorf("%s: shown %v, equal %v", c.name, shown, equal)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "999999": maxRetryAfter, "99999999999999999999": 0,
		now.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		now.Add(-time.Hour).Format(http.TimeFormat):       0,
	} {
		if got := retryAfter(in, now); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}

// FuzzAnswers wants that no bytes of a server break the reader, and that what
// comes out as an id may stand in a path and in a query.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{
		`{"items":[{"id":"1","EffectiveId":"2","Queue":{"id":"3","Name":"x"},"CustomFields":[{"id":2,"values":["a",{}]}]}],"count":1,"total":null,"page":1}`,
		`{"id":1,"Status":"new","Requestor":[{"id":"a"}],"Creator":{"id":5},"Created":"2026-11-30T01:52:29Z"}`,
		`{"id":{"id":{"id":1}}}`, `[]`, `""`, `{"items":[null]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p listPage
		var rec ticketRecord
		var q queueRecord
		ids := []recordID{}
		if json.Unmarshal(b, &p) == nil && p.Items != nil {
			for _, row := range *p.Items {
				ids = append(ids, row.ID, row.EffectiveID, row.ObjectID)
				row.CustomFields.holds("2", "a")
			}
		}
		if json.Unmarshal(b, &rec) == nil {
			ids = append(ids, rec.ID, rec.Queue.ID)
		}
		if json.Unmarshal(b, &q) == nil {
			ids = append(ids, q.ID)
		}
		for _, id := range ids {
			if strings.Trim(string(id), "0123456789") != "" {
				t.Errorf("id %q", id)
			}
		}
	})
}
