// Package worker stands for the real one.
package worker

type Worker interface {
	RegisterActivity(a any)
	RegisterWorkflow(w any)
}
