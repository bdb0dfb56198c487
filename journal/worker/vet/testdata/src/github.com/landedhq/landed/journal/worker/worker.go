// Package worker stands for the real one.
package worker

import (
	"context"
	"net/http"

	"github.com/landedhq/landed/journal"
)

type Run struct{ RootRun, Turn, Run string }

type Call struct {
	Run                              Run
	Tool, Step, Operation, Item, Key string
	Subject                          string
	Args                             []byte
}

type Outcome struct{ ProviderID string }
type Answer struct{ Status string }
type RunFunc func(ctx context.Context, call Call) (Outcome, error)

type ToolSpec struct {
	journal.Tool
	Run       RunFunc
	KeyHeader string
}

type Grant struct{}

func (g *Grant) ProviderKey() string { return "" }
func (g *Grant) Attempt() int        { return 1 }

type Done struct{}
type Undo struct {
	Run func(ctx context.Context, g *Grant, d Done) (Outcome, error)
}

type Worker struct{}

func (w *Worker) Do(context.Context, Call) (Answer, error)             { return Answer{}, nil }
func (w *Worker) DoUntilSettled(context.Context, Call) (Answer, error) { return Answer{}, nil }
func (w *Worker) Compensate(context.Context, Run, Undo) error          { return nil }

type Registry struct{}

func (r *Registry) Register(ToolSpec) error { return nil }

type Transport struct{}

func (t *Transport) RoundTrip(*http.Request) (*http.Response, error) { return nil, nil }

func NewTransport(*http.Transport) *Transport      { return nil }
func Client(context.Context) (*http.Client, error) { return nil, nil }
func Effect(context.Context) (*Grant, error)       { return nil, nil }
func NotSent(err error) error                      { return err }
