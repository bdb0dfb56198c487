package httpkey_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker/httpkey"
	"github.com/landedhq/landed/journal/worker/workertest"
)

func Example() {
	refunds := 0
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refunds++ // happens again with every request
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, "refund %d", refunds)
	})
	guard, err := httpkey.New(httpkey.Config{
		Journal: workertest.NewMemory(), // a journal/postgres.Store or a journal/client.Client
		Tool:    journal.Tool{Name: "refund", Class: journal.ClassAtMostOnce},
		Routes:  []string{"POST /refunds"},
		Client:  httpkey.Header("X-Client"), // set by the gateway that has checked who calls
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(guard(handler))
	defer server.Close()

	for _, key := range []string{`"order-17"`, `"order-17"`, `"order-18"`} {
		r, err := http.NewRequest(http.MethodPost, server.URL+"/refunds", strings.NewReader(`{"amount":500}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		r.Header.Set("X-Client", "shop")
		r.Header.Set(httpkey.HeaderName, key)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		fmt.Println(key, res.StatusCode, string(body), "replayed:", res.Header.Get("Idempotency-Replayed") == "true", err)
	}
	// Output:
	// "order-17" 201 refund 1 replayed: false <nil>
	// "order-17" 201 refund 1 replayed: true <nil>
	// "order-18" 201 refund 2 replayed: false <nil>
}
