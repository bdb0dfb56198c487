package guide

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/mail"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// found lists the values that stand in a recorded request where a field says,
// read by other means than the examples are written by.
func found(name string, f Field, r recorded) ([]string, error) {
	switch f.Place {
	case "header":
		return r.Header.Values(f.Name), nil
	case "form":
		q, err := url.ParseQuery(string(r.Body))
		return q[f.Name], err
	case "mime_header":
		m, err := mailOf(r)
		if err != nil {
			return nil, err
		}
		return m.Header[f.Name], nil
	case "text":
		return foundInText(name, f, r)
	}
	at, err := document(name, r)
	if err != nil {
		return nil, err
	}
	return inDocument(at, f.Name)
}

// mailOf reads the mail in a request.
func mailOf(r recorded) (*mail.Message, error) {
	raw := r.Body
	if r.Method != "SMTP" {
		var in struct{ Raw string }
		if err := json.Unmarshal(r.Body, &in); err != nil {
			return nil, err
		}
		var err error
		if raw, err = base64.URLEncoding.DecodeString(in.Raw); err != nil {
			return nil, err
		}
	}
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	for name, values := range m.Header { // net/mail writes Message-Id
		if strings.EqualFold(name, "Message-ID") {
			m.Header["Message-ID"] = values
		}
	}
	return m, nil
}

// document is the JSON that paths begin in.
func document(name string, r recorded) (any, error) {
	var at any
	if err := json.Unmarshal(r.Body, &at); err != nil {
		return nil, err
	}
	switch name {
	case "linear.issue", "braintree.transaction":
		return at.(map[string]any)["variables"], nil
	case "jmap":
		create := at.(map[string]any)["methodCalls"].([]any)[0].([]any)[1].(map[string]any)["create"].(map[string]any)
		return create["m"], nil
	}
	return at, nil
}

// inDocument walks a name such as "a.b[].c (in an object with k v)".
func inDocument(at any, name string) ([]string, error) {
	name, with, _ := strings.Cut(name, " (")
	object := regexp.MustCompile(`^(an|in an) object with (\S+) (.*)\)$`).FindStringSubmatch(with)
	if object != nil && object[1] == "an" {
		name += ".value"
	}
	list := []any{at}
	for _, part := range strings.Split(name, ".") {
		member, index, isList := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		var next []any
		for _, one := range list {
			m, ok := one.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%v is no object", one)
			}
			v := m[member]
			if !isList {
				next = append(next, v)
				continue
			}
			elements, ok := v.([]any)
			if !ok {
				return nil, fmt.Errorf("%s is %v, no list", member, v)
			}
			if n, err := strconv.Atoi(index); err == nil {
				elements = elements[n : n+1]
			}
			for _, e := range elements {
				if object == nil || fmt.Sprint(e.(map[string]any)[object[2]]) == object[3] {
					next = append(next, e)
				}
			}
		}
		list = next
	}
	var out []string
	for _, v := range list {
		out = append(out, fmt.Sprint(v))
	}
	return out, nil
}

// foundInText gives what stands at the end of a text, after a line of its own or a
// space.
func foundInText(name string, f Field, r recorded) ([]string, error) {
	where, how, _ := strings.Cut(f.Name, ", ")
	var text string
	switch {
	case where == "text":
		m, err := mailOf(r)
		if err != nil {
			return nil, err
		}
		var b io.Reader = m.Body
		if m.Header.Get("Content-Transfer-Encoding") == "base64" {
			b = base64.NewDecoder(base64.StdEncoding, b)
		}
		all, err := io.ReadAll(b)
		if err != nil {
			return nil, err
		}
		text = strings.TrimRight(strings.ReplaceAll(string(all), "\r\n", "\n"), "\n")
	case strings.Contains(r.Header.Get("Content-Type"), "form"):
		q, err := url.ParseQuery(string(r.Body))
		if err != nil {
			return nil, err
		}
		text = q.Get(where)
	default:
		at, err := document(name, r)
		if err != nil {
			return nil, err
		}
		list, err := inDocument(at, where)
		if err != nil || len(list) != 1 {
			return nil, fmt.Errorf("%d texts at %s: %v", len(list), where, err)
		}
		text = list[0]
	}
	before := "\n\n"
	if strings.Contains(how, "space") {
		before = " "
	}
	i := strings.LastIndex(text, before)
	if i <= 0 {
		return nil, fmt.Errorf("nothing stands at the end of %q", text)
	}
	return []string{text[i+len(before):]}, nil
}
