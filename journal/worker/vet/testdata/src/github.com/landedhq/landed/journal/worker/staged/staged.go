// Package staged stands for the real one.
package staged

import (
	"context"

	"github.com/landedhq/landed/journal/worker"
)

type Handle struct{ Value string }
type Reading struct{}

type Steps struct {
	Kind   string
	Create func(ctx context.Context) (Handle, error)
	Read   func(ctx context.Context, h Handle) (Reading, error)
	Finish func(ctx context.Context, h Handle) (worker.Outcome, error)
}

func Run(ctx context.Context, s Steps) (worker.Outcome, error) { return worker.Outcome{}, nil }
