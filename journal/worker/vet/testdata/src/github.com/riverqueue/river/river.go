// Package river stands for the real one.
package river

type Job[T any] struct {
	ID      int64
	Attempt int
	Args    T
}
