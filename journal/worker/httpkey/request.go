package httpkey

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/landedhq/landed/journal"
)

// storedRequest is what is journaled of a request, as its effect's args. An
// ordered attempt executes this. Other headers come from the request that picks
// the order up: credentials are never stored.
type storedRequest struct {
	Method   string `json:"method"`
	Path     string `json:"path"` // escaped, as it came
	Query    string `json:"query,omitempty"`
	Type     string `json:"content_type,omitempty"`
	Encoding string `json:"content_encoding,omitempty"`
	// Sum is over what makes two bodies the same: all bytes, unless Config.Identity
	// says otherwise. It is compared, not executed: a person may correct the body.
	Sum string `json:"body_sha256,omitempty"`
	content
}

// identityFields are the members that make two requests the same.
func identityFields() []string {
	return []string{"method", "path", "query", "content_type", "content_encoding", "body_sha256"}
}

// displayFields are the members that people see on an effect's page.
func displayFields() []string {
	return []string{"method", "path", "query", "content_type", "body", "body_text", "body_base64"}
}

// encodeRequest returns the args of a request with this body. identity is what
// the fingerprint takes of the body. The error is an *journal.InvalidError.
func encodeRequest(r *http.Request, body, identity []byte) ([]byte, error) {
	q := storedRequest{Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery,
		Type: r.Header.Get("Content-Type"), Encoding: r.Header.Get("Content-Encoding")}
	if len(identity) > 0 {
		sum := sha256.Sum256(identity)
		q.Sum = hex.EncodeToString(sum[:])
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(q); err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	head := bytes.TrimSuffix(bytes.TrimSpace(b.Bytes()), []byte("}"))
	if embeds(body) {
		if args := document(head, members(body, true)); journal.CheckArgs(args) == nil {
			return args, nil
		}
	}
	args := document(head, members(body, false))
	return args, journal.CheckArgs(args)
}

// document closes an open JSON object with more members.
func document(head, more []byte) []byte {
	out := make([]byte, 0, len(head)+len(more)+1)
	return append(append(append(out, head...), more...), '}')
}

func decodeRequest(args []byte) (storedRequest, []byte, error) {
	var q storedRequest
	if err := json.Unmarshal(args, &q); err != nil {
		return q, nil, fmt.Errorf("the stored request can't be read: %w", err)
	}
	if q.Method == "" || !strings.HasPrefix(q.Path, "/") {
		return q, nil, errors.New("the stored request has no method or path")
	}
	body, err := q.bytes()
	if err != nil {
		return q, nil, fmt.Errorf("the stored request %w", err)
	}
	return q, body, nil
}

// build makes the stored request into one for the handler. All that is not
// stored comes from the one that is being answered.
func (q storedRequest) build(ctx context.Context, from *http.Request, body []byte) (*http.Request, error) {
	path, err := url.PathUnescape(q.Path)
	if err != nil {
		return nil, fmt.Errorf("the stored request's path can't be read: %w", err)
	}
	out := from.Clone(ctx)
	out.Method = q.Method
	out.URL.Path, out.URL.RawPath, out.URL.RawQuery = path, q.Path, q.Query
	out.RequestURI = out.URL.RequestURI()
	out.Body, out.ContentLength = http.NoBody, int64(len(body))
	if len(body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(body))
	}
	out.GetBody, out.TransferEncoding, out.Trailer = nil, nil, nil
	out.Form, out.PostForm, out.MultipartForm = nil, nil, nil
	for name, v := range map[string]string{"Content-Type": q.Type, "Content-Encoding": q.Encoding} {
		out.Header.Del(name)
		if v != "" {
			out.Header.Set(name, v)
		}
	}
	if out.Header.Get("Content-Length") != "" {
		out.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	// The key is the journal's business; what switches the protocol, asks to go on
	// or announces a trailer was settled when the body was read.
	for _, name := range []string{HeaderName, "Expect", "Upgrade", "Trailer"} {
		out.Header.Del(name)
	}
	return out, nil
}
