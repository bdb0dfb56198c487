package stripe_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stripe/stripe-mock/embedded"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence/stripe"
	"github.com/landedhq/landed/providers/evidence/stripe/stripefake"
)

// contract is Stripe's own OpenAPI document, as its module carries it.
type contract struct {
	doc      map[string]any
	compiler *jsonschema.Compiler

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema
}

const docURL = "https://openapi.invalid/spec3.json"

func loadContract(t *testing.T) *contract {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(embedded.OpenAPISpec))
	if err != nil {
		t.Fatal(err)
	}
	c := &contract{doc: doc.(map[string]any), compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	nullable(c.doc["components"])
	nullable(c.doc["paths"])
	c.compiler.DefaultDraft(jsonschema.Draft4)
	if err := c.compiler.AddResource(docURL, c.doc); err != nil {
		t.Fatal(err)
	}
	return c
}

// nullable rewrites OpenAPI 3.0's own keyword in place. What is left is JSON
// Schema.
func nullable(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			nullable(e)
		}
	case map[string]any:
		for _, e := range v {
			nullable(e)
		}
		if v["nullable"] == true {
			rest := map[string]any{}
			for k, e := range v {
				rest[k] = e
				delete(v, k)
			}
			delete(rest, "nullable")
			v["anyOf"] = []any{map[string]any{"type": "null"}, rest}
		}
	}
}

// schema compiles what a pointer into the document leads to.
func (c *contract) schema(pointer string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.schemas[pointer]; s != nil {
		return s, nil
	}
	s, err := c.compiler.Compile(docURL + "#" + pointer)
	if err != nil {
		return nil, err
	}
	c.schemas[pointer] = s
	return s, nil
}

// operation finds the document's path for a request and returns the JSON pointer
// to its operation.
func (c *contract) operation(r *http.Request) (pointer string, op map[string]any) {
	paths := c.doc["paths"].(map[string]any)
	best := ""
	for template := range paths {
		re := regexp.MustCompile(`\\\{[^/]+\\\}`).ReplaceAllString(regexp.QuoteMeta(template), `[^/]+`)
		if template == r.URL.Path || best == "" && regexp.MustCompile("^"+re+"$").MatchString(r.URL.Path) {
			if best = template; best == r.URL.Path {
				break
			}
		}
	}
	if best == "" {
		return "", nil
	}
	op, _ = paths[best].(map[string]any)[strings.ToLower(r.Method)].(map[string]any)
	escaped := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(best)
	return "/paths/" + escaped + "/" + strings.ToLower(r.Method), op
}

// checkRequest holds the parameters against the operation's.
func (c *contract) checkRequest(r *http.Request) error {
	pointer, op := c.operation(r)
	if op == nil {
		return fmt.Errorf("no operation for %s %s", r.Method, r.URL.Path)
	}
	values := map[string]map[string][]string{} // by name, then by the part in brackets
	for k, v := range r.URL.Query() {
		name, part, _ := strings.Cut(strings.TrimSuffix(k, "]"), "[")
		if values[name] == nil {
			values[name] = map[string][]string{}
		}
		values[name][part] = v
	}
	for i, p := range op["parameters"].([]any) {
		p := p.(map[string]any)
		name := p["name"].(string)
		parts, ok := values[name]
		if delete(values, name); !ok {
			if p["required"] == true && p["in"] == "query" {
				return fmt.Errorf("parameter %s is missing", name)
			}
			continue
		}
		s, err := c.schema(fmt.Sprintf("%s/parameters/%d/schema", pointer, i))
		if err != nil {
			return err
		}
		if err := s.Validate(asJSON(parts)); err != nil {
			return fmt.Errorf("parameter %s: %w", name, err)
		}
	}
	for name := range values {
		return fmt.Errorf("parameter %s is not in the document", name)
	}
	return nil
}

// asJSON turns the parts of a parameter into the value that they stand for.
func asJSON(parts map[string][]string) any {
	if v, ok := parts[""]; ok {
		return scalar(v[0])
	}
	object, array := map[string]any{}, []any{}
	for k, v := range parts {
		object[k] = scalar(v[0])
		if strings.Trim(k, "0123456789") == "" {
			array = append(array, v[0])
		}
	}
	if len(array) == len(object) {
		return array
	}
	return object
}

func scalar(s string) any {
	if s != "" && strings.Trim(s, "0123456789") == "" {
		return json.Number(s)
	}
	return s
}

// checkAnswer holds an answer's body against the operation's schema for it.
func (c *contract) checkAnswer(r *http.Request, code int, body []byte) error {
	pointer, _ := c.operation(r)
	pointer += "/responses/200/content/application~1json/schema"
	if code != http.StatusOK {
		pointer = "/components/schemas/error"
	}
	s, err := c.schema(pointer)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// guard holds every request and answer of h against the contract.
func (c *contract) guard(t *testing.T, h http.Handler, count map[string]int) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		if err := c.checkRequest(r); err != nil {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		if err := c.checkAnswer(r, rec.Code, rec.Body.Bytes()); err != nil {
			t.Errorf("the answer to %s %s: %v", r.Method, r.URL, err)
		}
		if got := r.Header.Get("Stripe-Version"); got != stripe.APIVersion && r.Method == http.MethodGet {
			t.Errorf("Stripe-Version %q", got)
		}
		mu.Lock()
		count[r.Method+" "+strings.SplitN(r.URL.Path, "/", 4)[2]+" "+fmt.Sprint(rec.Code)]++
		mu.Unlock()
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes()) // the client may be gone
	})
}

// Every request of the adapter, and every answer of the fake, keep to Stripe's
// own document of the version that the adapter pins.
func TestRequestsAndFakeKeepToStripesOpenAPI(t *testing.T) {
	t.Parallel()
	c := loadContract(t)
	if got := c.doc["info"].(map[string]any)["version"]; got != stripe.APIVersion {
		t.Fatalf("the document is of version %v, the adapter speaks %s", got, stripe.APIVersion)
	}
	count := map[string]int{}
	for object, kind := range map[stripe.Object]string{
		stripe.PaymentIntents: "payment_intent", stripe.Charges: "charge", stripe.Refunds: "refund",
		stripe.Transfers: "transfer", stripe.CheckoutSessions: "checkout.session",
	} {
		account := newAccount()
		cfg := serve(t, c.guard(t, account, count))
		cfg.Object, cfg.Timeout = object, 2*time.Minute // the first use of a schema takes seconds to compile
		ref, viaEvent := journal.RandomRef(), journal.RandomRef()
		for i := range 101 { // a second page
			thing := stripefake.Thing{Kind: kind, Metadata: marked(journal.RandomRef())}
			switch {
			case kind == "checkout.session":
				thing.Status, thing.Paid = "complete", "paid"
			case kind == "charge" && i == 1:
				thing.Status = "pending"
			}
			if i == 0 {
				thing.Metadata = marked(ref)
			}
			account.Add(thing)
		}
		// Its event names the key, its metadata nothing.
		if kind != "checkout.session" { // no event tells of the making of one
			account.Add(stripefake.Thing{Kind: kind, Key: journal.ProviderKey(viaEvent, 2)})
		}
		mustLook(t, cfg, journal.RandomRef())
		if a := mustLook(t, cfg, ref); len(a.Matches) != 1 {
			t.Errorf("%s: %+v", object, a.Matches)
		}
		if a := mustLook(t, cfg, viaEvent); len(a.Matches) != 1 && kind != "checkout.session" {
			t.Errorf("%s by its key: %+v", object, a.Matches)
		}
		account.SetFaults(stripefake.Faults{Trouble: stripefake.TroubleLocked})
		if _, err := look(t, cfg, ref); err == nil {
			t.Errorf("%s: a fault went by", object)
		}
	}
	for _, want := range []string{"GET payment_intents 200", "GET charges 200", "GET refunds 200", "GET transfers 200", "GET checkout 200", "GET events 200", "GET refunds 429"} {
		if count[want] == 0 {
			t.Errorf("no %q was held against the document: %v", want, count)
		}
	}
}

// What a worker sends keeps to the document too.
func TestFormKeepsToStripesOpenAPI(t *testing.T) {
	t.Parallel()
	c := loadContract(t)
	ref := journal.RandomRef()
	for _, row := range []struct{ path, params string }{
		{"/v1/payment_intents", "amount=1250&currency=eur&confirm=true"},
		{"/v1/charges", "amount=1250&currency=eur&source=tok_visa"},
		{"/v1/refunds", "charge=ch_1x"},
		{"/v1/transfers", "amount=1250&currency=eur&destination=acct_1x"},
		{"/v1/checkout/sessions", "mode=payment"},
	} {
		params, err := url.ParseQuery(row.params)
		if err != nil {
			t.Fatal(err)
		}
		form, err := stripe.Form(params, "", ref)
		if err != nil {
			t.Fatal(err)
		}
		body := map[string]any{"metadata": map[string]any{stripe.DefaultMetadataKey: form.Get("metadata[landed_ref]")}}
		for k := range params {
			if body[k] = scalar(params.Get(k)); params.Get(k) == "true" {
				body[k] = true
			}
		}
		pointer, op := c.operation(httptest.NewRequest(http.MethodPost, "https://api.stripe.com"+row.path, http.NoBody))
		s, err := c.schema(pointer + "/requestBody/content/application~1x-www-form-urlencoded/schema")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(body); err != nil {
			t.Errorf("%s: %v", row.path, err)
		}
		properties := op["requestBody"].(map[string]any)["content"].(map[string]any)["application/x-www-form-urlencoded"].(map[string]any)["schema"].(map[string]any)["properties"].(map[string]any)
		for k := range body {
			if _, ok := properties[k]; !ok {
				t.Errorf("%s takes no %s", row.path, k)
			}
		}
	}
}

// The guard itself must be able to refuse.
func TestContractCatchesWrongRequestsAndAnswers(t *testing.T) {
	t.Parallel()
	c := loadContract(t)
	for _, target := range []string{
		"/v1/payment_intents?metadata[landed_ref]=x", "/v1/refunds?created[from]=1&limit=ten", "/v1/payment_intents/search?limit=1",
		"/v1/nothing", "/v1/events?types=refund.created", "/v1/charges?limit=x",
	} {
		if err := c.checkRequest(httptest.NewRequest(http.MethodGet, "https://api.stripe.com"+target, http.NoBody)); err == nil {
			t.Errorf("%s was taken", target)
		}
	}
	account := stripefake.New(map[string]stripefake.Key{readerKey: {Read: everything()}})
	account.Add(stripefake.Thing{Kind: "charge"})
	r := httptest.NewRequest(http.MethodGet, "https://api.stripe.com/v1/charges", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+readerKey)
	rec := httptest.NewRecorder()
	account.ServeHTTP(rec, r)
	good := rec.Body.String()
	for _, property := range []string{`"id"`, `"metadata"`, `"captured"`, `"has_more"`} {
		broken := strings.Replace(good, property, `"x"`, 1)
		if err := c.checkAnswer(r, http.StatusOK, []byte(broken)); err == nil {
			t.Errorf("an answer without %s was taken", property)
		}
	}
	if err := c.checkAnswer(r, http.StatusOK, []byte(good)); err != nil {
		t.Errorf("a good answer: %v", err)
	}
}
