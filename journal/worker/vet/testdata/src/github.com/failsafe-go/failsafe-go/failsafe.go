// Package failsafe stands for the real one.
package failsafe

type Policy interface{}

func Run(fn func() error, policies ...Policy) error { return fn() }
