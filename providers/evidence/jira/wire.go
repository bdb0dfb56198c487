package jira

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// issue is what the adapter reads of an issue. Nothing else is asked for.
type issue struct {
	ID     string `json:"id"`
	Key    string `json:"key"`
	Fields *struct {
		Summary string   `json:"summary"`
		Labels  []string `json:"labels"`
		Created jiraTime `json:"created"`
		Status  struct {
			Name string `json:"name"`
		} `json:"status"`
		Type struct {
			Name string `json:"name"`
		} `json:"issuetype"`
		Project struct {
			Key string `json:"key"`
		} `json:"project"`
		Resolution *struct {
			Name string `json:"name"`
		} `json:"resolution"`
	} `json:"fields"`
	Properties map[string]json.RawMessage `json:"properties"`
}

// wanted are the fields that are asked for.
const wanted = "summary,labels,created,status,issuetype,project,resolution"

// page is one page of a search.
type page struct {
	Issues        *[]issue `json:"issues"`
	NextPageToken string   `json:"nextPageToken"`
	IsLast        *bool    `json:"isLast"`
}

// whole reports whether all of an issue that counts is there.
func (i issue) whole() bool {
	return i.ID != "" && strings.Trim(i.ID, "0123456789") == "" && i.Key != "" && i.Fields != nil && i.Fields.Status.Name != "" && !i.Fields.Created.IsZero()
}

// labelled returns the references that the issue's labels carry.
func (i issue) labelled(prefix string) []string {
	var out []string
	for _, l := range i.Fields.Labels {
		if ref, ok := strings.CutPrefix(l, prefix); ok {
			out = append(out, ref)
		}
	}
	return out
}

// property returns the reference that the issue property carries, or "".
func (i issue) property(key string) string {
	var v struct {
		Ref string `json:"ref"`
	}
	if json.Unmarshal(i.Properties[key], &v) != nil {
		return "" // none, or somebody else's of that name
	}
	return v.Ref
}

// summary is all that evidence keeps of an issue's JSON.
func (i issue) summary(c Config) string {
	if i.Fields == nil {
		return fmt.Sprintf("issue %.40s without fields", i.Key)
	}
	return fmt.Sprintf("%.40s id=%.20s created=%s status=%.60q references by label=%.200q by property=%.80q",
		i.Key, i.ID, i.Fields.Created.Format(time.RFC3339), i.Fields.Status.Name, i.labelled(c.LabelPrefix), i.property(c.PropertyKey))
}

// jiraTime is a time as Jira writes it: with milliseconds and an offset without a
// colon.
type jiraTime struct{ time.Time }

func (t *jiraTime) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	at, err := time.Parse("2006-01-02T15:04:05.999-0700", s)
	if err != nil {
		at, err = time.Parse(time.RFC3339, s)
	}
	if err != nil {
		return fmt.Errorf("a time can't be read: %w", err)
	}
	t.Time = at.UTC()
	return nil
}

// permissions is what the account may do.
type permissions struct {
	Permissions map[string]struct {
		Have bool `json:"havePermission"`
	} `json:"permissions"`
}
