package journal

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxErrorRead  = 600 // bytes of an error text that tell its kind
	maxErrorClass = 160 // characters of a class
	// stands is what a number, an id or a quoted text leaves behind.
	stands = "#"
)

// ErrorClass puts an error text into the form that all errors of its kind share:
// numbers, ids, hex, mail addresses and what is quoted are replaced by #; white
// space is one blank. It is for grouping, never for judging.
func ErrorClass(text string) string {
	if len(text) > maxErrorRead {
		text = text[:maxErrorRead]
	}
	fields := strings.Fields(dropQuoted(strings.ToValidUTF8(text, "\uFFFD")))
	for i, f := range fields {
		fields[i] = classWord(f)
	}
	out := strings.Join(fields, " ")
	for _, joined := range []string{"##", "#.#", "#:#", "#-#", "#/#", "# #"} {
		for strings.Contains(out, joined) {
			out = strings.ReplaceAll(out, joined, stands)
		}
	}
	if utf8.RuneCountInString(out) > maxErrorClass {
		out = string([]rune(out)[:maxErrorClass])
	}
	return out
}

// closing is the mark that ends what a mark opens; 0 = it opens nothing.
func closing(r rune) rune {
	switch r {
	case '"', '`', '\'':
		return r
	case '“', '„':
		return '”'
	case '‘':
		return '’'
	case '«':
		return '»'
	}
	return 0
}

// dropQuoted replaces what stands between quotes. An apostrophe inside a word
// quotes nothing, nor does a mark that is never closed.
func dropQuoted(s string) string {
	runes := []rune(s)
	letter := func(i int) bool { return i >= 0 && i < len(runes) && unicode.IsLetter(runes[i]) }
	var b strings.Builder
	for i := 0; i < len(runes); i++ {
		end := closing(runes[i])
		if end == 0 || end == '\'' && letter(i-1) {
			b.WriteRune(runes[i])
			continue
		}
		j := i + 1
		for j < len(runes) && (runes[j] != end || end == '\'' && letter(j-1) && letter(j+1)) {
			j++
		}
		if j == len(runes) {
			b.WriteRune(runes[i])
			continue
		}
		b.WriteString(stands)
		i = j
	}
	return b.String()
}

// classWord replaces what differs from case to case in one word.
func classWord(w string) string {
	if at := strings.IndexByte(w, '@'); at > 0 && at < len(w)-1 {
		return stands
	}
	var b strings.Builder
	for len(w) > 0 {
		n := strings.IndexFunc(w, func(r rune) bool { return !idRune(r) })
		if n < 0 {
			n = len(w)
		}
		if n > 0 {
			b.WriteString(classRun(w[:n]))
			w = w[n:]
			continue
		}
		_, size := utf8.DecodeRuneInString(w)
		b.WriteString(w[:size])
		w = w[size:]
	}
	return b.String()
}

func idRune(r rune) bool {
	return r == '_' || r == '-' || r >= '0' && r <= '9' || unicode.IsLetter(r)
}

// classRun replaces a run of letters, digits, _ and - as a whole if it looks like
// an id, else its numbers.
func classRun(w string) string {
	digits, turns, hexes := 0, 0, 0
	was := rune(0)
	for _, r := range w {
		kind := rune('a')
		switch {
		case r >= '0' && r <= '9':
			kind, digits = '0', digits+1
		case r == '_' || r == '-':
			kind = '-'
		}
		if kind != '-' {
			if was != 0 && was != kind {
				turns++ // from letters to digits or back
			}
			was = kind
		}
		if kind == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F' {
			hexes++
		}
	}
	runes := utf8.RuneCountInString(w)
	isHex := hexes == runes && (digits > 0 && runes >= 6 || runes >= 16)
	if isHex || digits > 0 && turns >= 2 && runes >= 8 {
		return stands
	}
	if digits == 0 {
		return w
	}
	var b strings.Builder
	inNumber := false
	for _, r := range w {
		number := r >= '0' && r <= '9'
		if number && !inNumber {
			b.WriteString(stands)
		}
		if !number {
			b.WriteRune(r)
		}
		inNumber = number
	}
	return b.String()
}
