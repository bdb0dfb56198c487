package imap

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	goimap "github.com/emersion/go-imap/v2"
)

// maxHits is how many hits of a header search are compared. A reference has one;
// more mean that the server ignored the filter.
const maxHits = 200

// search looks both carriers up by header search and compares the hits. It
// reports whether the answer may be believed.
func (l *look) search() (trusted bool, err error) {
	var uids []goimap.UID
	trusted = true
	for _, header := range []string{l.cfg.Carrier.RefHeader, messageIDHeader} {
		set, err := l.uidSearch(headerCriteria(header, l.q.Ref, &goimap.SearchCriteria{Since: l.since()}))
		if unusable(err) {
			trusted = false // the scan decides
			continue
		}
		if err != nil {
			return false, err
		}
		found, all := newest(set, maxHits)
		if !all {
			l.complete = false
			l.unrelated += count(set) - len(found)
		}
		uids = append(uids, found...)
	}
	slices.Sort(uids)
	uids = slices.Compact(uids)
	if err := l.compareHits(uids); err != nil {
		return false, err
	}
	if !trusted || len(uids) > 0 {
		return trusted, nil
	}
	return l.probe()
}

func headerCriteria(header, value string, c *goimap.SearchCriteria) *goimap.SearchCriteria {
	c.Header = []goimap.SearchCriteriaHeaderField{{Key: header, Value: value}}
	return c
}

// uidSearch runs UID SEARCH in its plain form: no RETURN, no CHARSET.
func (l *look) uidSearch(c *goimap.SearchCriteria) (goimap.UIDSet, error) {
	var set goimap.UIDSet
	err := l.do(searchText(c), func() (string, error) {
		data, err := l.client.UIDSearch(c, nil).Wait()
		if err != nil {
			return "", err
		}
		if set, err = numbers(data); err != nil {
			return "", err
		}
		return fmt.Sprintf("OK, %d hits: UID %s", count(set), oneLine(set.String(), 200)), nil
	})
	return set, err
}

// numbers returns what a search found. Servers may answer in the extended form
// though nobody asked for it; one that only counts (iCloud) tells nothing.
func numbers(data *goimap.SearchData) (goimap.UIDSet, error) {
	if data.All == nil && data.Count == 0 && data.Min == 0 {
		return nil, nil // the extended form leaves ALL out where nothing was found
	}
	set, ok := data.All.(goimap.UIDSet)
	if !ok || set.Dynamic() || (len(set) == 0 && data.Count > 0) {
		return nil, fmt.Errorf("%w: a search result without message numbers", errBadAnswer)
	}
	return set, nil
}

// unusable reports whether a search was refused or answered with nonsense,
// while the connection is still good.
func unusable(err error) bool { return status(err) != nil || errors.Is(err, errBadAnswer) }

// searchText is the command as people read it.
func searchText(c *goimap.SearchCriteria) string {
	var b strings.Builder
	b.WriteString("UID SEARCH")
	for _, set := range c.UID {
		fmt.Fprintf(&b, " UID %s", set.String())
	}
	if !c.Since.IsZero() {
		fmt.Fprintf(&b, " SINCE %s", c.Since.Format("02-Jan-2006"))
	}
	for _, h := range c.Header {
		fmt.Fprintf(&b, " HEADER %s %q", h.Key, h.Value)
	}
	return b.String()
}

// probe asks whether header search works in this mailbox at all: the newest
// message must be found by its own headers. It is what the adapter can do by
// itself; the positive control of a look asks the same with a known reference.
func (l *look) probe() (trusted bool, err error) {
	msgs, err := l.fetchCarriers(goimap.SeqSetNum(l.selected.NumMessages))
	if status(err) != nil {
		return false, nil
	}
	if err != nil || len(msgs) != 1 || msgs[0].uid == 0 {
		return false, err
	}
	own := false
	for _, header := range []string{l.cfg.Carrier.RefHeader, messageIDHeader} {
		t := token(first(msgs[0].fields, header))
		if t == "" {
			continue
		}
		own = true
		set, err := l.uidSearch(headerCriteria(header, t, &goimap.SearchCriteria{UID: []goimap.UIDSet{goimap.UIDSetNum(msgs[0].uid)}}))
		if unusable(err) {
			return false, nil
		}
		if err != nil || !set.Contains(msgs[0].uid) {
			return false, err
		}
	}
	return own, nil
}

// newest returns the highest n numbers of set, ascending, and whether these are
// all. It never expands a range further: a server may claim any.
func newest(set goimap.UIDSet, n int) (uids []goimap.UID, all bool) {
	for i := len(set) - 1; i >= 0; i-- {
		for uid := set[i].Stop; ; uid-- {
			if len(uids) == n {
				slices.Reverse(uids)
				return uids, false
			}
			uids = append(uids, uid)
			if uid == set[i].Start {
				break
			}
		}
	}
	slices.Reverse(uids)
	return uids, true
}

// count is the size of a static set.
func count(set goimap.UIDSet) int {
	n := 0
	for _, r := range set {
		n += int(r.Stop-r.Start) + 1
	}
	return n
}
