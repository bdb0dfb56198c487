// Package stagedtest holds the cases that every provider of package staged passes:
// the worker dies, its context is cut or an answer is lost at each step, and the
// effect still happens once, or is left to evidence.
//
// It owns the faults, which a server in front of the provider's fake makes, and the
// journal in memory. A provider's test brings the fake and says which request is
// which step.
package stagedtest
