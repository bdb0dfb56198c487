// Package webhook sends alerts as signed HTTP requests (package providers/webhook:
// Standard Webhooks 1.0.0). It owns the alert's body and how an answer becomes an
// alert.SendError; when to try again is the notifier's business.
package webhook
