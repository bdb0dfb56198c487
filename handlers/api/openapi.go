package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// openapi is GET /v1/openapi.yaml, the only call without a token: it holds
// nothing of this journal.
func (a *API) openapi(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/yaml", document)
}
