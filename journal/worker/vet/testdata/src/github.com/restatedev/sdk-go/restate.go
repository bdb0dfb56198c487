// Package restate stands for the real one.
package restate

type Context interface{ Key() string }
type RunContext interface{ Log() }

func Run[T any](ctx Context, fn func(RunContext) (T, error)) (T, error) { return fn(nil) }
