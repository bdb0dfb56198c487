package jira

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/landedhq/landed/providers/evidence/faults"
)

const (
	perPage = 100
	// shownRows caps the rows of a page that evidence keeps.
	shownRows = 25
)

// jql is the query for a reference. It has no clause for the project: an issue that
// was moved is found too, and a project that can't be seen is found out by the
// account's permissions. It has none for the time either: Jira takes times in the
// account's time zone. ref is 32 hex digits and the rest is checked words.
func (c Config) jql(ref string) string {
	if c.Carrier == Property {
		return fmt.Sprintf("issue.property[%s].ref = %q", c.PropertyKey, ref)
	}
	return fmt.Sprintf("labels = %q", c.LabelPrefix+ref)
}

// search asks the index and reads every hit again.
func (l *look) search(ctx context.Context) error {
	cfg := l.s.a.cfg
	query := url.Values{"jql": {cfg.jql(l.q.Ref)}, "fields": {wanted}, "properties": {cfg.PropertyKey}, "maxResults": {strconv.Itoa(perPage)}}
	seen, tokens := map[string]bool{}, map[string]bool{}
	var hits []string
	for range cfg.MaxPages {
		var p page
		if err := l.get(ctx, "search/jql", query, &p, func() string { return p.shown(cfg) }); err != nil {
			return err
		}
		if p.Issues == nil {
			return faults.Bad("Jira's answer is no page of a search")
		}
		for _, i := range *p.Issues {
			switch {
			case !i.whole():
				return faults.Bad("Jira's search holds a row that is no issue")
			case seen[i.ID]:
				return faults.Bad("Jira gave an issue twice: its pages can't be trusted to be complete")
			case slices.Contains(i.labelled(cfg.LabelPrefix), l.q.Ref), i.property(cfg.PropertyKey) == l.q.Ref:
				hits = append(hits, i.ID)
			default:
				l.ans.Unrelated++ // the query was not honoured, or another case equals ours there
			}
			seen[i.ID] = true
		}
		switch last := p.IsLast != nil && *p.IsLast; {
		case p.NextPageToken == "" && p.IsLast != nil && !last:
			return faults.Bad("Jira says that there is more and does not say where")
		case p.NextPageToken == "" || last:
			l.ans.AllPagesRead = true
		case tokens[p.NextPageToken]:
			return faults.Bad("Jira sends the search in a circle")
		}
		if l.ans.AllPagesRead {
			break
		}
		tokens[p.NextPageToken] = true
		query.Set("nextPageToken", p.NextPageToken)
	}
	for _, id := range hits {
		if err := l.again(ctx, id, ""); err != nil {
			return err
		}
	}
	return nil
}

// shown is what evidence keeps of a page.
func (p page) shown(c Config) string {
	if p.Issues == nil {
		return "no page"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows, more %v", len(*p.Issues), p.NextPageToken != "")
	for n, i := range *p.Issues {
		if n == shownRows {
			fmt.Fprintf(&b, "\n(%d more)", len(*p.Issues)-n)
			break
		}
		b.WriteString("\n" + i.summary(c))
	}
	return b.String()
}
