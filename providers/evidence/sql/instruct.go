package sql

import (
	"fmt"

	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/providers/evidence"
)

var _ evidence.Instructor = (*Adapter)(nil)

// Instruction says what Value gives.
func (a *Adapter) Instruction(ref string, issue int) (evidence.Instruction, error) {
	value, err := Value(ref)
	if err != nil {
		return evidence.Instruction{}, err
	}
	if issue < 1 {
		return evidence.Instruction{}, fmt.Errorf("sql: the issue number is %d, they begin with 1", issue)
	}
	if a.cfg.Dashed {
		value = journal.Dashed(ref)
	}
	return evidence.Instruction{
		About: "The reference is a column of the row, written in the same transaction as the effect's own rows.",
		Setup: []string{
			"The column has a unique index: a second row of the same effect then fails with SQLSTATE 23505, whoever sends it. Table.Migration of this adapter's package writes the DDL.",
			"A row that is written afterwards, or over another connection, proves nothing.",
			"For an order under a new issue number the reference is taken: clear it on the first row.",
			"Rows that are deleted can't be found: mark them instead, and give the time after which they are archived as retention.",
		},
		Request: "the INSERT of the effect's own row",
		Fields: []evidence.Field{
			{Place: "column", Name: a.cfg.Columns.Ref, Value: value, Why: "the look-up asks for it"},
		},
	}, nil
}
