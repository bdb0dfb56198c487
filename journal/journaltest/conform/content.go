package conform

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/landedhq/landed/journal"
)

func contentCases() []testCase {
	return []testCase{
		{"content/J24_args kept byte for byte", argsKept},
		{"content/J24_args refused before intent", argsRefused},
		{"content/J24_text refused before intent", textRefused},
		{"content/J24_results kept byte for byte", resultsKept},
		{"content/J23_result of 8 MiB", resultLarge},
		{"content/reports of odd text are taken", oddReports},
		{"content/J11_J26_keys", keysRefused},
	}
}

// argsKept: what is journaled is what attempt 2 is told to run.
func argsKept(d *desk) {
	for i, args := range []string{
		`{"body":"a\u0000b"}`,
		`{"body":"\ud800"}`,
		`{"body":"\\u0000"}`,
		`{"n":1970670598291982290,"p":10.10,"e":1E400,"z":-0.0}`,
		"{ \"b\" : 1,\t\"a\":[ 1 ,2 ]\r\n}",
		"\n {\"around\":1} \n",
		`{"html":"<b>&amp;</b>","line":"` + "\u2028\u2029" + `","emoji":"😀\ud83d\ude00"}`,
		`null`, `"text"`, `[]`, `7`,
	} {
		r := request("mail.send", fmt.Sprint("args-", i))
		r.Args, r.RootRun = []byte(args), fmt.Sprint("run-", i)
		a := d.begin(r, journal.DirectiveExecute)
		d.fail(report(r, a), journal.PhaseNotSent, false)
		d.pass(a.EffectID, time.Hour)
		if b := d.begin(again(r), journal.DirectiveExecute); string(b.Args) != args {
			d.Errorf("args %q came back as %q", args, b.Args)
		}
	}
}

func argsRefused(d *desk) {
	for name, c := range map[string]struct{ args, says string }{
		"invalid UTF-8":      {"{\"a\":\"\xff\"}", "not valid UTF-8"},
		"repeated member":    {`{"a":2,"a":3}`, "twice"},
		"repeated, escaped":  {`{"a":2,"\u0061":3}`, "twice"},
		"repeated, deep":     {`{"x":[{"a":2,"a":3}]}`, "twice"},
		"no JSON":            {`{"a":`, "not valid JSON"},
		"nothing":            {``, "not valid JSON"},
		"two values":         {`{} {}`, "more than one"},
		"a raw control byte": {"\"a\x00b\"", "control character"},
		"too deep":           {strings.Repeat("[", 201) + strings.Repeat("]", 201), "nested"},
		"too large":          {`"` + strings.Repeat("a", journal.MaxArgsBytes) + `"`, "at most"},
	} {
		r := request("mail.send", "args "+name)
		r.Args = []byte(c.args)
		_, err := d.Begin(d.Context(), r)
		d.invalid(err, "args", c.says)
		r.Args = []byte(`{}`)
		if a := d.begin(r, journal.DirectiveExecute); a.Attempt != 1 {
			d.Errorf("%s: the refused begin left a row", name)
		}
	}
}

func textRefused(d *desk) {
	for field, set := range map[string]func(r *journal.BeginRequest, s string){
		"subject":   func(r *journal.BeginRequest, s string) { r.Subject = s },
		"operation": func(r *journal.BeginRequest, s string) { r.Operation = s },
		"root_run":  func(r *journal.BeginRequest, s string) { r.RootRun = s },
	} {
		for _, c := range []struct{ text, says string }{
			{"a\x00b", "NUL"}, {"\xff", "not valid UTF-8"}, {strings.Repeat("x", journal.MaxTextBytes+1), "at most"},
		} {
			r := request("mail.send", "k")
			set(&r, c.text)
			_, err := d.Begin(d.Context(), r)
			d.invalid(err, field, c.says)
		}
	}
	r := request("mail.send", "k")
	r.Resume = []byte(`{"a":1,"a":2}`)
	_, err := d.Begin(d.Context(), r)
	d.invalid(err, "resume", "twice")
}

func resultsKept(d *desk) {
	for i, result := range [][]byte{
		[]byte(`{"id":"p-1"}`), []byte("{\"id\":\"p-3\",  \"html\":\"<b>&amp;</b>\" }\n"), []byte(`{"body":"a\u0000b","s":"\ud800"}`),
		[]byte(`{"a":2,"a":3}`), []byte(`1970670598291982290`), []byte(`null`), []byte(` null`), {}, nil, []byte(`250 2.0.0 OK`),
		{0, 1, 0xff, 0xfe}, []byte("{\"a\":\"\xff\"}"), []byte(`{"open":`), []byte(strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)),
	} {
		r := request("mail.send", fmt.Sprint("result-", i))
		d.commit(report(r, d.begin(r, journal.DirectiveExecute)), "m", result)
		got := d.begin(again(r), journal.DirectiveReturn).Result
		if !bytes.Equal(got, result) || (got == nil) != (result == nil) {
			d.Errorf("result %.80q (nil %v) came back as %.80q (nil %v)", result, result == nil, got, got == nil)
		}
	}
}

func resultLarge(d *desk) {
	noise := make([]byte, journal.MaxResultBytes)
	_, _ = rand.Read(noise)
	for name, result := range map[string][]byte{
		"JSON":  []byte(`"` + base64.StdEncoding.EncodeToString(noise)[:journal.MaxResultBytes-2] + `"`),
		"bytes": bytes.Repeat([]byte{0xff, 0, '"'}, journal.MaxResultBytes/3),
	} {
		r := request("mail.send", name)
		rep := report(r, d.begin(r, journal.DirectiveExecute))
		_, err := d.Commit(d.Context(), journal.CommitRequest{Report: rep, Result: append(bytes.Clone(result), "12345"...)})
		d.invalid(err, "result", "at most")
		d.commit(rep, "m", result)
		if got := d.begin(again(r), journal.DirectiveReturn).Result; !bytes.Equal(got, result) {
			d.Errorf("%s: %d bytes came back as %d others", name, len(result), len(got))
		}
	}
}

// oddReports: no report of what happened fails over its text.
func oddReports(d *desk) {
	odd := "a\x00b\xff\ud7ff\n" + strings.Repeat("ü", 10_000)
	r := request("mail.send", "k1")
	a := d.begin(r, journal.DirectiveExecute)
	if _, err := d.Fail(d.Context(), journal.FailRequest{Report: report(r, a), Phase: journal.PhaseSent, Error: odd}); err != nil {
		d.Errorf("fail: %v", err)
	}
	if got := d.snap(a.EffectID).Attempts[0].Error; !strings.HasPrefix(got, "a\u2400b\uFFFD") || len(got) > journal.MaxErrorBytes {
		d.Errorf("the error was kept as %.20q, %d bytes", got, len(got))
	}
	r = request("mail.send", "k2")
	a = d.begin(r, journal.DirectiveExecute)
	d.commit(report(r, a), odd, nil)
	if got := d.snap(a.EffectID).Effect.ProviderID; !strings.HasPrefix(got, "a\u2400b\uFFFD") || len(got) > journal.MaxProviderIDBytes {
		d.Errorf("the provider id was kept as %.20q, %d bytes", got, len(got))
	}
}

func keysRefused(d *desk) {
	noise := make([]byte, 2250)
	_, _ = rand.Read(noise)
	for key, says := range map[string]string{
		"": "empty", "   ": "blank", " k": "space", "k ": "space", "kä": "printable ASCII", "k\x00": "printable ASCII", "\xff": "printable ASCII",
		base64.StdEncoding.EncodeToString(noise): "at most 255",
	} {
		_, err := d.Begin(d.Context(), request("mail.send", key))
		d.invalid(err, "key", says)
	}
	for _, key := range []string{strings.Repeat("k", journal.MaxKeyBytes), `a/b?c=d&e#f%20"g"<h>`, "with inner space"} {
		a := d.begin(request("mail.send", key), journal.DirectiveExecute)
		if got := d.snap(a.EffectID).Effect.Key; got != key {
			d.Errorf("key %q was kept as %q", key, got)
		}
	}
}
