package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// The largest bodies, in bytes. A begin holds args of 1 MiB, a commit a result
// of 8 MiB, each also in base64.
const (
	MaxBeginBytes  = 2 << 20
	MaxCommitBytes = 12 << 20
	MaxFailBytes   = 1 << 20 // an error text is cut by the journal, not refused here
	MaxToolBytes   = 2 << 20
	MaxSmallBytes  = 64 << 10 // heartbeat, handle
)

// tooLargeError says which member most likely made a body too large.
type tooLargeError struct {
	field string
	limit int64
}

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("%s makes the body larger than the %d bytes that this call takes", e.field, e.limit)
}

var (
	errMediaType = errors.New("the body must be application/json, in UTF-8 and not compressed")
	errCutShort  = errors.New("the request's body ended early")
)

// body reads a JSON body of at most limit bytes; field is what to blame for
// more.
func body(c echo.Context, limit int64, field string) ([]byte, error) {
	r := c.Request()
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" || r.Header.Get("Content-Encoding") != "" {
		return nil, errMediaType
	}
	if set := params["charset"]; set != "" && !strings.EqualFold(set, "utf-8") {
		return nil, errMediaType
	}
	if r.ContentLength > limit {
		return nil, &tooLargeError{field, limit}
	}
	b, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, &tooLargeError{field, limit}
	case err != nil && r.Context().Err() == nil:
		return nil, fmt.Errorf("%w: %w", errCutShort, err)
	case err != nil:
		return nil, r.Context().Err()
	}
	return b, nil
}

// answer writes a 200 with a form, or passes the error on.
func answer(c echo.Context, form []byte, err error) error {
	if err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return c.Blob(http.StatusOK, "application/json", form)
}
