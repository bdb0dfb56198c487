// Package mailer knows no journal: who uses it must.
package mailer

import "net/smtp"

// Mail sends one.
func Mail(to string) error { // want Mail:`causes smtp.SendMail`
	return deliver(to)
}

func deliver(to string) error {
	return smtp.SendMail("mail.example.com:25", nil, "a@example.com", []string{to}, nil)
}

// Metric is one that may be lost.
func Metric(to string) error {
	return deliverMetric(to)
}

//landed:unjournaled a report to ourselves
func deliverMetric(to string) error {
	return smtp.SendMail("mail.example.com:25", nil, "a@example.com", []string{to}, nil)
}
