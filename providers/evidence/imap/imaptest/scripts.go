package imaptest

import (
	"fmt"
	"io"
	"strings"
)

// isHeaderSearch reports whether cmd searches by header.
func isHeaderSearch(cmd Command) bool {
	return cmd.Verb == "UID SEARCH" && strings.Contains(cmd.Args, "HEADER ")
}

// AnswerHeaderSearch answers every header search with lines; $TAG stands for the
// command's tag. "* SEARCH\r\n$TAG OK done\r\n" never finds anything.
func AnswerHeaderSearch(lines string) Script {
	return func(w io.Writer, cmd Command) Action {
		if !isHeaderSearch(cmd) {
			return Default
		}
		fmt.Fprint(w, strings.ReplaceAll(lines, "$TAG", cmd.Tag))
		return Done
	}
}

// Answer answers every command of that verb with lines, as AnswerHeaderSearch.
func Answer(verb, lines string) Script {
	return func(w io.Writer, cmd Command) Action {
		if cmd.Verb != verb {
			return Default
		}
		fmt.Fprint(w, strings.ReplaceAll(lines, "$TAG", cmd.Tag))
		return Done
	}
}

// At does action when a command of that verb comes.
func At(verb string, action Action) Script {
	return func(_ io.Writer, cmd Command) Action {
		if cmd.Verb != verb {
			return Default
		}
		return action
	}
}

// DropMidway sends the start of an answer to verb, then closes.
func DropMidway(verb, start string) Script {
	return func(w io.Writer, cmd Command) Action {
		if cmd.Verb != verb {
			return Default
		}
		fmt.Fprint(w, start)
		return Drop
	}
}

// Endless answers verb with chunk until the client hangs up.
func Endless(verb, start, chunk string) Script {
	chunk = strings.Repeat(chunk, 1+4096/len(chunk))
	return func(w io.Writer, cmd Command) Action {
		if cmd.Verb != verb {
			return Default
		}
		for _, err := io.WriteString(w, start); err == nil; {
			_, err = io.WriteString(w, chunk)
		}
		return Drop
	}
}

// RefuseCharset answers BADCHARSET to any search that names one, as Exchange
// does.
func RefuseCharset(w io.Writer, cmd Command) Action {
	if cmd.Verb != "UID SEARCH" || !strings.Contains(cmd.Args, "CHARSET") {
		return Default
	}
	fmt.Fprintf(w, "%s NO [BADCHARSET (US-ASCII)] The specified charset is not supported.\r\n", cmd.Tag)
	return Done
}

// AnswerIf is Answer for commands whose arguments contain part.
func AnswerIf(verb, part, lines string) Script {
	answer := Answer(verb, lines)
	return func(w io.Writer, cmd Command) Action {
		if !strings.Contains(cmd.Args, part) {
			return Default
		}
		return answer(w, cmd)
	}
}

// Both lets each script try in turn.
func Both(first, second Script) Script {
	return func(w io.Writer, cmd Command) Action {
		if a := first(w, cmd); a != Default {
			return a
		}
		return second(w, cmd)
	}
}
