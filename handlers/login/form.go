package login

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"github.com/labstack/echo/v4"
)

// Names under which a form or a script sends the form token.
const (
	FormField  = "form_token"
	FormHeader = "Landed-Form-Token"
)

// formToken follows from the session's token and tells nothing about it. It
// changes with every login.
func (s *session) formToken() string {
	m := hmac.New(sha256.New, []byte(s.token))
	m.Write([]byte("landed form token 1"))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// FormToken returns the token that every form of this session must send as
// FormField; "" without a session.
func FormToken(c echo.Context) string {
	s := current(c)
	if s == nil {
		return ""
	}
	return s.formToken()
}

// CheckFormToken compares what the request sent (FormField, else FormHeader) with
// the session's token. The error is an *Error with status 403.
func (l *Login) CheckFormToken(c echo.Context) error {
	return l.checkForm(c, current(c))
}

func (l *Login) checkForm(c echo.Context, s *session) error {
	if s == nil {
		return errSignInRequired()
	}
	got := c.Request().Header.Get(FormHeader)
	if got == "" {
		got = c.Request().PostFormValue(FormField) // never from the address
	}
	if !hmac.Equal([]byte(got), []byte(s.formToken())) {
		return l.refuse(c, s.actor(), errFormToken())
	}
	return nil
}
