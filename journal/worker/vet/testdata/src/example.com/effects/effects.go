// Package effects is a worker's: what it causes belongs into the journal.
package effects

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/smtp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/landedhq/landed/journal/worker"
	"github.com/landedhq/landed/journal/worker/staged"
	"github.com/sendgrid/sendgrid-go"
	"github.com/slack-go/slack"
	"github.com/stripe/stripe-go/v82"
	"github.com/stripe/stripe-go/v82/refund"
)

type worker2 struct {
	w    *worker.Worker
	http *http.Client
	url  string
}

func (a *worker2) raw(ctx context.Context, body string) error {
	if _, err := http.Post(a.url, "application/json", strings.NewReader(body)); err != nil { // want `http.Post causes an effect without the journal, so that a retry or a crash doubles or loses it. Move it into the function of a tool and call that with Worker.Do, or say why not: //landed:unjournaled reason.`
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, a.url, strings.NewReader(body))
	if err != nil {
		return err
	}
	if _, err := a.http.Do(req); err != nil { // want `Client.Do causes an effect without the journal`
		return err
	}
	r2, err := a.request(ctx, "DELETE", "/orders/1")
	if err != nil {
		return err
	}
	if _, err := http.DefaultClient.Do(r2.WithContext(ctx)); err != nil { // want `Client.Do causes an effect without the journal`
		return err
	}
	return smtp.SendMail("mail.example.com:25", nil, "a@example.com", nil, nil) // want `smtp.SendMail causes an effect without the journal`
}

func (a *worker2) request(ctx context.Context, method, path string) (*http.Request, error) {
	return http.NewRequestWithContext(ctx, method, a.url+path, nil)
}

// call sends with the method that it is given.
func (a *worker2) call(ctx context.Context, method, path string) error {
	req, err := http.NewRequestWithContext(ctx, method, a.url+path, nil)
	if err != nil {
		return err
	}
	_, err = a.http.Do(req)
	return err
}

func (a *worker2) calls(ctx context.Context) error {
	if err := a.call(ctx, http.MethodGet, "/orders"); err != nil {
		return err
	}
	return a.call(ctx, http.MethodPost, "/orders") // want `worker2.call causes an effect without the journal`
}

func sdks(ctx context.Context, sc *stripe.Client, s *slack.Client, g *sendgrid.Client, ses *sesv2.Client) {
	refund.New(&stripe.RefundParams{Charge: stripe.String("ch_1")}) // want `refund.New causes an effect`
	refund.Get("re_1", &stripe.RefundParams{})
	sc.V1Refunds.Create(ctx, &stripe.RefundCreateParams{}) // want `v1RefundService.Create causes an effect`
	s.PostMessageContext(ctx, "C1")                        // want `Client.PostMessageContext causes an effect`
	s.GetUserInfo("U1")
	g.Send(nil)                                 // want `Client.Send causes an effect`
	ses.SendEmail(ctx, &sesv2.SendEmailInput{}) // want `Client.SendEmail causes an effect`
}

// Reads, loopback and test servers are none.
func (a *worker2) reads(ctx context.Context) error {
	if _, err := http.Get(a.url); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url, nil)
	if err != nil {
		return err
	}
	if _, err := a.http.Do(req); err != nil {
		return err
	}
	if _, err := http.Post("http://127.0.0.1:8080/v1", "text/plain", nil); err != nil {
		return err
	}
	const local = "http://localhost:9090"
	if _, err := http.Post(local+"/x", "text/plain", nil); err != nil {
		return err
	}
	srv := httptest.NewServer(nil)
	r2, err := http.NewRequest(http.MethodPost, srv.URL+"/x", nil)
	if err != nil {
		return err
	}
	_, err = a.http.Do(r2)
	return err
}

// The function of a tool is where effects belong, with what it alone calls.
func (a *worker2) spec() worker.ToolSpec {
	return worker.ToolSpec{Run: func(ctx context.Context, call worker.Call) (worker.Outcome, error) {
		if err := a.post(ctx, call.Args); err != nil {
			return worker.Outcome{}, err
		}
		return worker.Outcome{}, smtp.SendMail("mail.example.com:25", nil, "a@example.com", nil, call.Args)
	}}
}

func (a *worker2) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	_, err = a.http.Do(req)
	return err
}

func (a *worker2) run(ctx context.Context, call worker.Call) (worker.Outcome, error) {
	_, err := http.Post(a.url, "application/json", bytes.NewReader(call.Args))
	return worker.Outcome{}, err
}

func (a *worker2) staged(ctx context.Context) (worker.Outcome, error) {
	return staged.Run(ctx, staged.Steps{Create: a.create})
}

func (a *worker2) create(ctx context.Context) (staged.Handle, error) {
	_, err := http.Post(a.url+"/drafts", "application/json", nil)
	return staged.Handle{}, err
}

func undo(w *worker.Worker, url string) error {
	return w.Compensate(context.Background(), worker.Run{RootRun: "run-7"}, worker.Undo{Run: func(context.Context, *worker.Grant, worker.Done) (worker.Outcome, error) {
		_, err := http.Post(url, "application/json", nil)
		return worker.Outcome{}, err
	}})
}

// The grant's client refuses what has no grant.
func granted(ctx context.Context, url string) error {
	client, err := worker.Client(ctx)
	if err != nil {
		return err
	}
	_, err = client.Post(url, "application/json", nil)
	return err
}

// what a tool's function sends again, the journal knows nothing of.
func (a *worker2) again(ctx context.Context, call worker.Call) (worker.Outcome, error) {
	for attempt := 0; attempt < 3; attempt++ {
		if _, err := http.Post(a.url, "application/json", bytes.NewReader(call.Args)); err == nil { // want `http.Post is repeated inside of a tool's function, where the loop at line \d+ retries, and the journal sees one attempt. Send once and return the error: Do tries again where that is safe.`
			return worker.Outcome{}, nil
		}
		time.Sleep(time.Second)
	}
	return worker.Outcome{}, context.DeadlineExceeded
}

func resent(ctx context.Context, call worker.Call) (worker.Outcome, error) {
	c := retryablehttp.NewClient()
	if _, err := c.Get("https://api.example.com"); err != nil {
		return worker.Outcome{}, err
	}
	_, err := c.Post("https://api.example.com/charges", "application/json", call.Args) // want `Client.Post sends again on its own what may have arrived, and the journal sees one attempt. Use worker.Client, or a client whose retries are off.`
	return worker.Outcome{}, err
}
