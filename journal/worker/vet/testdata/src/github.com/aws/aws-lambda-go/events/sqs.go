// Package events stands for the real one.
package events

type SQSMessage struct{ MessageId, Body string }
type SQSEvent struct{ Records []SQSMessage }
