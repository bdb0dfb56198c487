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
	own, err := l.searchGmail()
	if err != nil {
		return false, err
	}
	uids = append(uids, own...)
	slices.Sort(uids)
	uids = slices.Compact(uids)
	if err := l.compareHits(uids); err != nil {
		return false, err
	}
	if !trusted || len(l.hits) > 0 {
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

// searchGmail looks up the Message-ID by Gmail's own operator, which is exact. It
// may bring a hit; what it does not bring, and its refusal, prove nothing: Gmail
// replaces some Message-IDs.
func (l *look) searchGmail() ([]goimap.UID, error) {
	if !l.can.gmail {
		return nil, nil
	}
	text := "UID SEARCH"
	if !l.since().IsZero() {
		text += " SINCE " + l.since().Format("2-Jan-2006")
	}
	var uids []goimap.UID
	text += fmt.Sprintf(" X-GM-RAW %q", "rfc822msgid:"+l.q.Ref+"@"+l.cfg.Carrier.Domain)
	_, err := l.extra(text, func(list []answer) (string, error) {
		for _, a := range list {
			if !a.is("SEARCH") {
				continue
			}
			nums, err := a.numbers()
			if err != nil {
				return "", err
			}
			for _, n := range nums[:min(len(nums), maxHits)] {
				uids = append(uids, goimap.UID(n))
			}
		}
		return fmt.Sprintf("OK, %d hits", len(uids)), nil
	})
	if err != nil && !unusable(err) {
		return nil, err
	}
	return uids, nil
}

// refused reports whether the server said NO or BAD to this very request, while
// the connection is still good. One that wants to be left alone said nothing about
// the request.
func refused(err error) bool {
	st := status(err)
	if st == nil {
		return false
	}
	_, wait := throttled(st)
	return !wait
}

// unusable reports whether a search was refused or answered with nonsense.
func unusable(err error) bool { return refused(err) || errors.Is(err, errBadAnswer) }

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

// recent is how many of the newest messages are read in any case: an index that
// lags lacks these.
const recent = 50

// probe asks whether header search works in this mailbox at all, and is up to
// date: the newest message must be found by its own headers, and so must an older
// one. It is what the adapter can do by itself; the positive control of a look asks
// the same with a known reference. On the way it compares what it reads.
func (l *look) probe() (trusted bool, err error) {
	n := l.selected.NumMessages
	var set goimap.SeqSet
	set.AddRange(max(n, recent)-recent+1, n)
	msgs, err := l.fetchCarriers(set)
	if refused(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	msgs = slices.DeleteFunc(msgs, func(m message) bool { return m.uid == 0 || !m.whole })
	if len(msgs) == 0 {
		return false, nil
	}
	if _, err := l.compare(msgs); err != nil {
		return false, err
	}
	for _, m := range slices.Compact([]int{len(msgs) - 1, 0}) {
		if trusted, err = l.probeOne(msgs[m]); err != nil || !trusted {
			return false, err
		}
	}
	return true, nil
}

// probeOne reports whether a message is found by its own headers.
func (l *look) probeOne(m message) (found bool, err error) {
	own := false
	for _, header := range []string{l.cfg.Carrier.RefHeader, messageIDHeader} {
		t := token(first(m.fields, header))
		if t == "" {
			continue
		}
		own = true
		set, err := l.uidSearch(headerCriteria(header, t, &goimap.SearchCriteria{UID: []goimap.UIDSet{goimap.UIDSetNum(m.uid)}}))
		if unusable(err) {
			return false, nil
		}
		if err != nil || !set.Contains(m.uid) {
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
