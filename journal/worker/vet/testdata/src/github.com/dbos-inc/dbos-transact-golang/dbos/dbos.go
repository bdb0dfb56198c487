// Package dbos stands for the real one.
package dbos

import "context"

type Context interface{ context.Context }
type Step[R any] func(ctx context.Context) (R, error)

func RunAsStep[R any](ctx Context, fn Step[R]) (R, error) { return fn(ctx) }
