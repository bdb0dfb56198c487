// Package workflow stands for the real one.
package workflow

type Context interface{ Done() }
type Future interface{ Get(Context, any) error }
type EncodedValue interface{ Get(any) error }

func ExecuteActivity(ctx Context, activity any, args ...any) Future { return nil }
func SideEffect(ctx Context, f func(Context) any) EncodedValue      { return nil }
