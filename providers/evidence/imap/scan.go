package imap

import (
	"fmt"
	"slices"

	goimap "github.com/emersion/go-imap/v2"
)

// scanBatch is how many messages one FETCH of a scan names: command lines stay
// short enough for every server.
const scanBatch = 200

// scan reads the newest messages and compares them here. Up to MaxScan messages
// it reads the whole mailbox and so needs no SEARCH at all; beyond that the
// server says which messages are of the window.
func (l *look) scan() error {
	if int(l.selected.NumMessages) <= l.cfg.MaxScan {
		return l.scanAll()
	}
	set, err := l.uidSearch(&goimap.SearchCriteria{Since: l.since()})
	if unusable(err) {
		l.complete = false
		l.how = "neither header search nor search by date can be used: nothing was read"
		return nil
	}
	if err != nil {
		return err
	}
	uids, all := newest(set, l.cfg.MaxScan)
	l.complete = l.complete && all
	l.how = fmt.Sprintf("header search can't be used; the newest %d of %d messages since %s were read",
		len(uids), count(set), l.since().Format("2006-01-02"))
	for batch := range slices.Chunk(uids, scanBatch) {
		if err := l.scanSome(goimap.UIDSetNum(batch...), len(batch)); err != nil {
			return err
		}
	}
	return l.checkDateSearch(set)
}

func (l *look) scanAll() error {
	l.how = fmt.Sprintf("header search can't be used; all %d messages were read", l.selected.NumMessages)
	var set goimap.SeqSet
	set.AddRange(1, l.selected.NumMessages)
	// One command: between two, a removal elsewhere would shift the numbers.
	return l.scanSome(set, int(l.selected.NumMessages))
}

func (l *look) scanSome(set goimap.NumSet, want int) error {
	msgs, err := l.fetchCarriers(set)
	if err != nil {
		return err
	}
	if len(msgs) < want {
		l.complete = false
	}
	_, err = l.compare(msgs)
	return err
}

// checkDateSearch distrusts a search by date that misses the newest message
// although that one is of the window.
func (l *look) checkDateSearch(set goimap.UIDSet) error {
	msgs, err := l.fetchCarriers(goimap.SeqSetNum(l.selected.NumMessages))
	if err != nil {
		return err
	}
	if len(msgs) != 1 || (!msgs[0].date.Before(l.q.From) && !set.Contains(msgs[0].uid)) {
		l.complete = false
	}
	return nil
}
