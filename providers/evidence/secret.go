package evidence

// Secret returns an adapter's secret when it is needed. A function instead of a
// string: it can't be printed with its Config, and a rotated one is read anew
// for every session.
type Secret func() (string, error)

// Fixed returns a Secret that never changes.
func Fixed(s string) Secret { return func() (string, error) { return s, nil } }
