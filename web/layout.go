package web

import "strings"

// madeISO is the page's clock for the script, empty if it has none.
func madeISO(s *Stamp) string {
	if s == nil {
		return ""
	}
	return s.ISO
}

// noticeRole announces at once what went wrong, and politely what went well.
func noticeRole(n Notice) string {
	if n.Tone == ToneStop {
		return "alert"
	}
	return "status"
}

// stepWord says for listeners what the dot shows.
func stepWord(s StepState) string {
	switch s {
	case StepDone:
		return ", done: "
	case StepNow:
		return ", now: "
	case StepFailed:
		return ", did not work out: "
	}
	return ", not yet: "
}

// describedBy names the error beside a field, if there is one, and its hints.
func describedBy(err, id string, hints ...string) string {
	out := ""
	for _, h := range hints {
		out += h + " "
	}
	if err != "" {
		out += id
	}
	return strings.TrimSpace(out)
}

// invalid is the value of aria-invalid.
func invalid(err string) string {
	if err != "" {
		return "true"
	}
	return "false"
}
