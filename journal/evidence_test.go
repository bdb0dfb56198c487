package journal_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/landedhq/landed/journal"
)

// Evidence that was recorded before Waited was kept reads as it did.
func TestEvidenceBodyWithoutWaited(t *testing.T) {
	t.Parallel()
	var old journal.Evidence
	body := `{"ID":"e","Verdict":"NOT_FOUND","CoversAttempt":1,"Positive":{"ran":true,"passed":true},"Digest":"ab"}`
	if err := json.Unmarshal([]byte(body), &old); err != nil || old.Waited != (journal.Waited{}) || old.CoversAttempt != 1 {
		t.Errorf("%+v, %v", old, err)
	}
	if b, err := json.Marshal(old); err != nil || strings.Contains(string(b), "Waited") {
		t.Errorf("it is written anew with what was not known: %s, %v", b, err)
	}
	old.Waited = journal.Waited{Lag: 165 * time.Second, Declared: time.Minute, P99: 55 * time.Second, Samples: 412, Lost: 1}
	b, err := json.Marshal(old)
	var again journal.Evidence
	if err == nil {
		err = json.Unmarshal(b, &again)
	}
	if err != nil || again.Waited != old.Waited {
		t.Errorf("%s reads as %+v, %v", b, again.Waited, err)
	}
}
