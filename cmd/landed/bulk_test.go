package main

import (
	"net/url"
	"strings"
	"testing"

	"github.com/landedhq/landed/handlers/login/logintest"
)

// TestBulkOnTheDemo goes the whole way on the real server: group by cause, freeze
// the set, see what it reaches, order, and find every effect with its outcome,
// worked off by a background round.
func TestBulkOnTheDemo(t *testing.T) {
	t.Parallel()
	address, _, _ := startDemo(t)
	b := logintest.NewBrowser(t)
	b.SignIn(address+"/", "p-olivia")
	awaitText(t, b, address+"/", "Payout to Brightside Supplies")
	if causes := parse(t, b.Get(address+"/?group=cause")); causes.Find("[data-cause]").Length() < 2 {
		t.Fatalf("the causes: %.500s", causes.Find("main").Text())
	}
	list := b.Get(address + "/?q=Fax")
	if parse(t, list).Find("[data-row]").Length() == 0 {
		list = b.Get(address + "/")
	}
	frozen := submit(t, b, list, "Decide several", nil)
	if !strings.Contains(frozen.URL.Path, "/bulk/") {
		t.Fatalf("frozen at %s", frozen.URL)
	}
	choice := map[string][]string{"choice": {"close_landed"}, "reason_code": {"test"}, "reason": {"the sandbox is put in order"}}
	confirm := submit(t, b, frozen, "Review the order", url.Values(choice))
	done := submit(t, b, confirm, "Order", nil)
	result := parse(t, awaitText(t, b, done.URL.String(), "Done"))
	items := result.Find("[data-item]")
	if items.Length() == 0 || strings.Contains(items.Text(), "Not yet") || !strings.Contains(result.Find(".counts").Text(), "Decided") {
		t.Errorf("%d items: %s", items.Length(), result.Find("main").Text())
	}
}
