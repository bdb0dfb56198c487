// Package model holds the exhaustive model of one effect: journal.pml, for the
// model checker spin. Its test compiles the model, searches every interleaving
// for each tool class, and then takes one rule after another out and requires
// that the search finds what goes wrong. README.md says what is modelled and
// what is not.
//
// The package has no code of its own. The journal itself is played against a
// model in journal/journaltest/model.
package model
