package declared

import (
	"fmt"
	"time"

	"github.com/landedhq/landed/providers/definition"
)

// file is one definition as written. Texts with ${…} and expressions are kept
// as they are here; compile turns them into programs.
type file struct {
	Adapter string               `yaml:"adapter"` // name, e.g. redmine.issue
	Version string               `yaml:"version"` // changes when the way of looking does
	Title   string               `yaml:"title"`   // for people
	Sheet   sheetBlock           `yaml:"sheet"`
	Params  definition.Params    `yaml:"params"`
	Base    string               `yaml:"base"`  // text over params; https
	Hosts   []string             `yaml:"hosts"` // further hosts than base's, texts over params
	Auth    definition.AuthBlock `yaml:"auth"`
	Steps   []stepBlock          `yaml:"steps"`
	Redact  []string             `yaml:"redact"` // paths in answers that are never kept
	Errors  []errorBlock         `yaml:"errors"` // for every answer of every step
	Writer  writerBlock          `yaml:"writer"`
}

type sheetBlock struct {
	Class             string      `yaml:"class"`
	IndexLag          string      `yaml:"index_lag"`
	ProcessingHorizon string      `yaml:"processing_horizon"`
	Retention         string      `yaml:"retention"` // empty = until somebody deletes it
	Native            nativeBlock `yaml:"native"`
	// InconclusiveWhy says why an empty answer proves nothing; empty = it proves.
	InconclusiveWhy string `yaml:"inconclusive_why"`
}

type nativeBlock struct {
	Header       string `yaml:"header"`
	Window       string `yaml:"window"`
	ErrorsKept   bool   `yaml:"errors_kept"`
	BodyCompared bool   `yaml:"body_compared"`
}

type stepBlock struct {
	ID      string                  `yaml:"id"`
	When    string                  `yaml:"when"` // bool: run at all
	Each    string                  `yaml:"each"` // list: run once per element, as variable each
	Request definition.RequestBlock `yaml:"request"`
	Errors  []errorBlock            `yaml:"errors"`
	Absent  string                  `yaml:"absent"` // bool: this answer means "nothing there"
	Save    map[string]string       `yaml:"save"`   // for later steps, as saved.name
	Scopes  []scopeBlock            `yaml:"scopes"`

	Items     string        `yaml:"items"` // list of rows; empty = a preparing step
	Pages     *pagesBlock   `yaml:"pages"`
	Truncated string        `yaml:"truncated"` // bool: the provider says that rows are missing
	Refetch   *refetchBlock `yaml:"refetch"`
	Match     *matchBlock   `yaml:"match"`
	Unrelated string        `yaml:"unrelated"` // bool per row without the reference; default true
	Facts     *factsBlock   `yaml:"facts"`
}

type pagesBlock struct {
	Kind  string `yaml:"kind"`  // whole, none, next_url, link, cursor, page, offset
	Param string `yaml:"param"` // where cursor, page or offset goes
	In    string `yaml:"in"`    // query (default) or json (dotted path)
	Next  string `yaml:"next"`  // next_url, cursor: expression; null or "" = the end
	More  string `yaml:"more"`  // bool: there is a further page
	Size  int    `yaml:"size"`  // rows that one page holds when it is full
	First int    `yaml:"first"` // page: number of the first one
	Total string `yaml:"total"` // int: how many rows there are in all
	Max   int    `yaml:"max"`   // cap on pages; 0 = 5
}

type refetchBlock struct {
	When    string                  `yaml:"when"` // bool over row: read this one again; empty = every row
	Request definition.RequestBlock `yaml:"request"`
	Absent  string                  `yaml:"absent"` // bool: it is gone
	Item    string                  `yaml:"item"`   // the object in the answer
	Max     int                     `yaml:"max"`    // cap per look; 0 = 20
}

type matchBlock struct {
	Carrier string `yaml:"carrier"` // the field's name, for people
	Value   string `yaml:"value"`   // string or list of strings
	Form    string `yaml:"form"`    // hex (default) or dashed
}

type factsBlock struct {
	ID     string            `yaml:"id"`
	URL    string            `yaml:"url"`
	Title  string            `yaml:"title"`
	Time   string            `yaml:"time"`
	Status string            `yaml:"status"`
	State  string            `yaml:"state"` // effective, pending or not_effective
	Where  string            `yaml:"where"` // text over params; empty = the step's first scope
	More   map[string]string `yaml:"more"`  // e.g. amount
}

type scopeBlock struct {
	Name   string `yaml:"name"`   // text over params
	Seen   string `yaml:"seen"`   // bool; empty = the answer came
	Detail string `yaml:"detail"` // why not
}

type errorBlock struct {
	When       string `yaml:"when"`
	Kind       string `yaml:"kind"`
	Detail     string `yaml:"detail"`
	RetryAfter string `yaml:"retry_after"` // seconds; empty = the header's
}

type writerBlock struct {
	About   string       `yaml:"about"`
	Setup   []string     `yaml:"setup"`   // what somebody must set up at the provider
	Request string       `yaml:"request"` // the call, e.g. POST /issues.json
	Fields  []fieldBlock `yaml:"fields"`
}

type fieldBlock struct {
	Place string `yaml:"place"` // header, json, form, query, path, graphql, mime_header, text
	Name  string `yaml:"name"`  // text
	Value string `yaml:"value"` // text over ref, provider_key, issue and params
	Why   string `yaml:"why"`
}

// parseDuration reads a length of time as Go writes it, with days: 30s, 5m, 24h,
// 30d. Nothing is 0.
func parseDuration(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	var days int
	if n, err := fmt.Sscanf(s, "%dd", &days); err == nil && n == 1 && s == fmt.Sprintf("%dd", days) && days >= 0 && days < 36500 {
		return time.Duration(days) * 24 * time.Hour, nil
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("%q is no length of time: write it like 30s, 5m, 24h or 30d", s)
	}
	return v, nil
}
