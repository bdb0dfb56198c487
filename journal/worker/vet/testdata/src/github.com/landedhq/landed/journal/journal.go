// Package journal stands for the real one.
package journal

import "time"

type BeginRequest struct {
	Key, RootRun, Step string
	Args               []byte
}

type Tool struct{ Name string }

func NewID(time.Time) string { return "" }
func NewToken() string       { return "" }

func DeriveKey(rootRun, step, operation, item string) (string, error) {
	return rootRun + step + operation + item, nil
}
