package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/landedhq/landed/journal/journaltest"
)

// patience is how long a page may take to show what is expected of it.
const patience = 30 * time.Second

// screen is what a person looks at.
type screen struct {
	Name          string
	Width, Height int64
	Phone         bool
	NoScript      bool // pages work without, and are then loaded again by hand
}

func desktop() screen { return screen{Name: "desktop", Width: 1280, Height: 900} }

func screens() []screen {
	return []screen{
		desktop(), {Name: "phone", Width: 390, Height: 844, Phone: true},
		{Name: "noscript", Width: 1280, Height: 900, NoScript: true},
	}
}

// startBrowser starts one Chromium for the test; tabs are opened from its context.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		journaltest.Missing(t, "Chromium", "apt-get install --no-install-recommends chromium")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()))
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox) // Chromium refuses root otherwise
	}
	alloc, stopAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, stopBrowser := chromedp.NewContext(alloc)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // closes it in good order
		stopBrowser()
		stopAlloc()
	})
	// The first action owns the browser: no time-out here.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("starting Chromium: %v", err)
	}
	return ctx
}

// tab is one person's browser: its cookies are its own.
type tab struct {
	t      *testing.T
	ctx    context.Context
	origin string // Landed's; what other pages log is not our business
	dir    string // for screenshots
	screen screen
	shots  int

	mu       sync.Mutex
	faults   []string
	expected []string // texts of faults that the test provokes, once each
}

// cspReporter turns violations into console errors that name the directive.
const cspReporter = `addEventListener("securitypolicyviolation", (e) =>
	console.error("CSP violation: " + e.violatedDirective + " blocked " + e.blockedURI + " " + e.sample));`

// newTab opens a tab in a browser context of its own.
func newTab(t *testing.T, browser context.Context, origin string, s screen, who string) *tab {
	t.Helper()
	b := &tab{t: t, origin: origin, screen: s, dir: filepath.Join(artefacts(t), s.Name, who)}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(b.hear))
	b.ctx = ctx
	t.Cleanup(func() {
		if t.Failed() {
			b.dump()
		}
		b.checkFaults()
		cancel()
	})
	viewport := []chromedp.EmulateViewportOption{}
	if s.Phone {
		viewport = append(viewport, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulatePortrait)
	}
	watch := func(ctx context.Context, tg *chromedp.Target) error {
		if _, err := cdp.Call(ctx, tg, cdplog.Enable, cdp.Empty{}); err != nil {
			return err
		}
		if s.NoScript {
			_, err := cdp.Call(ctx, tg, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
			return err
		}
		_, err := cdp.Call(ctx, tg, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: cspReporter})
		return err
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(s.Width, s.Height, viewport...), chromedp.Func(watch)); err != nil {
		t.Fatalf("opening a tab: %v", err)
	}
	return b
}

// hear keeps what a page complains about. It runs between the browser's
// messages: it only takes notes.
func (b *tab) hear(ev any) {
	note := ""
	switch e := ev.(type) {
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.EntryLevelError && strings.HasPrefix(e.Entry.URL, b.origin) {
			note = fmt.Sprintf("log, %s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		if d := e.ExceptionDetails; strings.HasPrefix(d.URL, b.origin) {
			note = "exception: " + (&chromedp.ExceptionError{ExceptionDetails: d}).Error()
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			note = "console: " + consoleText(e.Args)
		}
	}
	if note == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, text := range b.expected {
		if strings.Contains(note, text) {
			b.expected = slices.Delete(b.expected, i, i+1)
			return
		}
	}
	b.faults = append(b.faults, note)
}

// expect lets a page complain once in these words: Chromium logs every answer
// above 399 as an error, also one that the test is after.
func (b *tab) expect(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, text)
}

// complaints hands out what pages complained of, and forgets it.
func (b *tab) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.faults
	b.faults = nil
	return out
}

func consoleText(args []*runtime.RemoteObject) string {
	var parts []string
	for _, a := range args {
		parts = append(parts, strings.Trim(string(a.Value), `"`)+a.Description)
	}
	return strings.Join(parts, " ")
}

// checkFaults fails the test if a page of ours complained.
func (b *tab) checkFaults() {
	b.t.Helper()
	for _, f := range b.complaints() {
		b.t.Errorf("%s, %s: %s", b.screen.Name, filepath.Base(b.dir), f)
	}
}

// open goes to an address.
func (b *tab) open(url string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		b.t.Fatalf("opening %s: %v", url, err)
	}
}

// do runs actions and fails the test with what they were for.
func (b *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

func (b *tab) click(css string) {
	b.t.Helper()
	b.do("clicking "+css, chromedp.Click(chromedp.CSS(css), chromedp.NodeVisible))
}

// submit clicks, and waits until another page is there: for an answer that looks
// like the page before.
func (b *tab) submit(css string) {
	b.t.Helper()
	b.until(patience, "marking the page", `(document.documentElement.dataset.before = "yes") === "yes"`)
	b.click(css)
	b.until(patience, "the answer to "+css, `document.documentElement.dataset.before === undefined && document.readyState === "complete"`)
}

func (b *tab) write(css, text string) {
	b.t.Helper()
	b.do("writing into "+css, chromedp.SendKeys(chromedp.CSS(css), text, chromedp.NodeVisible))
}

// eval asks the page. While it changes the answer may be an error.
func eval[T any](b *tab, js string) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
}

// until waits for a condition of the page, within a time.
func (b *tab) until(within time.Duration, what, js string) {
	b.t.Helper()
	for deadline := time.Now().Add(within); ; <-time.After(50 * time.Millisecond) {
		ok, err := eval[bool](b, js)
		if err == nil && ok {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s: not within %s (%v)", what, within, err)
		}
	}
}

// sees waits until the element holds the text.
func (b *tab) sees(css, text string) {
	b.t.Helper()
	b.until(patience, fmt.Sprintf("%q in %s", text, css), holds(css, text))
}

// opensUntil loads a page until it holds the text: for what does not change by
// itself.
func (b *tab) opensUntil(url, css, text string) {
	b.t.Helper()
	b.loadsUntil(url, fmt.Sprintf("%q in %s", text, css), holds(css, text))
}

// loadsUntil loads a page until the condition holds.
func (b *tab) loadsUntil(url, what, js string) {
	b.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(200 * time.Millisecond) {
		b.open(url)
		ok, err := eval[bool](b, js)
		if err == nil && ok {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s: not within a minute (%v)", what, err)
		}
	}
}

func holds(css, text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.innerText.includes(%q))`, css, text)
}

// follows waits until the page shows by itself what happened meanwhile: within
// ten seconds and without being loaded anew. Without scripts it is loaded anew.
func (b *tab) follows(css, text string, happen func()) {
	b.t.Helper()
	if b.screen.NoScript {
		happen()
		b.until(patience, fmt.Sprintf("%q in %s", text, css), fmt.Sprintf(`%s || (location.reload(), false)`, holds(css, text)))
		return
	}
	if _, err := eval[bool](b, `window.landedTestMark = true`); err != nil {
		b.t.Fatalf("marking the page: %v", err)
	}
	happen()
	b.until(10*time.Second, fmt.Sprintf("%q in %s", text, css), holds(css, text))
	if ok, err := eval[bool](b, `window.landedTestMark === true`); err != nil || !ok {
		b.t.Errorf("the page was loaded anew (%v)", err)
	}
}

// has asks at once whether an element is there.
func (b *tab) has(css string) bool {
	b.t.Helper()
	n, err := eval[bool](b, fmt.Sprintf(`document.querySelector(%q) !== null`, css))
	if err != nil {
		b.t.Fatalf("looking for %s: %v", css, err)
	}
	return n
}

func (b *tab) location() string {
	b.t.Helper()
	at, err := eval[string](b, `location.href`)
	if err != nil {
		b.t.Fatalf("asking where the tab is: %v", err)
	}
	return at
}

// shot keeps a picture of the whole page, and checks what every page must hold
// to: nothing sticks out sideways, and no known barrier.
func (b *tab) shot(name string) {
	b.t.Helper()
	b.picture(name)
	wide, err := eval[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`)
	if err != nil || wide > 0 {
		b.t.Errorf("%s, %s: the page is %d pixels wider than the screen (%v)", b.screen.Name, name, wide, err)
	}
	if !b.screen.NoScript { // axe is a script; the pages are the same
		for _, barrier := range b.barriers() {
			b.t.Errorf("%s, %s: %s", b.screen.Name, name, barrier)
		}
	}
	b.checkFaults()
}

func (b *tab) picture(name string) {
	b.t.Helper()
	b.shots++
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(b.dir, fmt.Sprintf("%02d-%s.png", b.shots, name)), png, 0o644)
	}
	if err != nil {
		b.t.Errorf("taking a picture of %s: %v", name, err)
	}
}

// dump keeps what the page was when the test failed.
func (b *tab) dump() {
	html, err := eval[string](b, `document.documentElement.outerHTML`)
	at, lerr := eval[string](b, `location.href`)
	if err := errors.Join(err, lerr); err != nil {
		b.t.Logf("the page can't be asked: %v", err)
		return
	}
	path := filepath.Join(b.dir, "failed.html")
	if err := os.WriteFile(path, []byte(html), 0o644); err != nil {
		b.t.Logf("keeping the page: %v", err)
	}
	text, _ := eval[string](b, `document.body.innerText`)
	b.t.Logf("%s was at %s (kept as %s):\n%.3000s", filepath.Base(b.dir), at, path, text)
	b.picture("failed")
}

// setValue picks an option as a person does: the page hears of it.
func setValue(css, value string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tg *chromedp.Target) error {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q;
			e.dispatchEvent(new Event("change", {bubbles: true})); return e.value === %q; })()`, css, value, value)))
		if err == nil && !ok {
			err = fmt.Errorf("%s has no option %q", css, value)
		}
		return err
	})
}
