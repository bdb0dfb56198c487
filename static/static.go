// Package static holds the style sheet, the page script and the icon of the
// pages: all our own, embedded, each served under the checksum of its content so
// that a browser may keep it for good.
//
// It owns the files, their checksums and their compressed forms. It does not own
// the URL they are served under, nor any page.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
)

//go:embed app.css app.js icon.svg
var content embed.FS

// The names of the files.
const (
	CSS  = "app.css"
	JS   = "app.js"
	Icon = "icon.svg"
)

// File is one embedded file.
type File struct {
	Name string
	Type string // the value of Content-Type
	Sum  string // hex SHA-256, its first 16 bytes
	Body []byte
	Gzip []byte // Body, compressed
}

// Files are all embedded files; read-only once made.
type Files struct{ list []File }

// Load reads the files, sums them up and compresses them.
func Load() (*Files, error) {
	fs := &Files{}
	for _, f := range []struct{ name, kind string }{
		{CSS, "text/css; charset=utf-8"}, {JS, "text/javascript; charset=utf-8"}, {Icon, "image/svg+xml"},
	} {
		body, err := content.ReadFile(f.name)
		if err != nil {
			return nil, fmt.Errorf("reading embedded %s: %w", f.name, err)
		}
		small, err := compress(body)
		if err != nil {
			return nil, fmt.Errorf("compressing embedded %s: %w", f.name, err)
		}
		sum := sha256.Sum256(body)
		fs.list = append(fs.list, File{Name: f.name, Type: f.kind, Sum: hex.EncodeToString(sum[:16]), Body: body, Gzip: small})
	}
	return fs, nil
}

// Get returns the file of that name; ok is false if there is none.
func (fs *Files) Get(name string) (f File, ok bool) {
	for _, f := range fs.list {
		if f.Name == name {
			return f, true
		}
	}
	return File{}, false
}

func compress(body []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
