package worker

import "context"

// Sending must be called right before the first byte of what causes the effect
// by tools that do not speak HTTP: for SMTP before the first byte of the
// message body. An error means that nothing may be written: the attempt's time
// is over or its lease is lost. After nil the outcome counts as unknown until
// the tool reports otherwise.
func Sending(ctx context.Context) error {
	g, err := Effect(ctx)
	if err != nil {
		return err
	}
	return g.sending()
}

// Preparing tells the record that the tool reports its phases: call it when a
// tool that does not speak HTTP starts to connect. An error before Sending then
// proves that nothing was sent.
func Preparing(ctx context.Context) error {
	g, err := Effect(ctx)
	if err != nil {
		return err
	}
	return g.admit()
}

// Reading marks requests that only look: they do not count as sent, are allowed
// after send_by, and may use GET, HEAD and OPTIONS only. Without it every
// request counts, as some providers change things on GET.
func Reading(ctx context.Context) context.Context {
	return context.WithValue(ctx, readingKey{}, true)
}

func isReading(ctx context.Context) bool {
	marked, _ := ctx.Value(readingKey{}).(bool)
	return marked
}
