package login

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Error is an answer for a person: the handlers' error table renders it as a
// page. Title and WhatToDo are safe to show; Err is the cause for the log and
// must not be shown.
type Error struct {
	Status   int
	Code     string // stable, for logs and tests: one of the Code constants
	Title    string
	WhatToDo string
	// Link is the local address of the way on, "" if there is none.
	Link string
	Err  error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("login: %s: %v", e.Code, e.Err)
	}
	return "login: " + e.Code
}

func (e *Error) Unwrap() error { return e.Err }

// Codes of errors.
const (
	CodeSignInRequired = "sign_in_required"  // an unsafe request without a session
	CodeExpired        = "sign_in_expired"   // no flow cookie, or older than ten minutes
	CodeReplayed       = "sign_in_replayed"  // this sign-in was used already
	CodeCancelled      = "sign_in_cancelled" // the person or the identity provider said no
	CodeProviderDown   = "provider_unavailable"
	CodeProviderWrong  = "provider_answer_refused" // a check of the answer failed
	CodeGroupsOverage  = "groups_too_many"         // the token points to groups instead of listing them
	CodeGroupsMissing  = "groups_missing"
	CodeNoRole         = "no_role"
	CodeLoop           = "sign_in_loop"
	CodeNotFresh       = "not_fresh"
	CodeStore          = "session_store_unavailable"
	CodeCrossOrigin    = "cross_origin"
	CodeFormToken      = "form_token"
)

func errSignInRequired() *Error {
	return &Error{Status: http.StatusUnauthorized, Code: CodeSignInRequired, Title: "You are signed out",
		WhatToDo: "Nothing was changed. Sign in again, open the page anew and repeat what you did.", Link: PathLogin}
}

func errExpired(err error) *Error {
	return &Error{Status: http.StatusBadRequest, Code: CodeExpired, Title: "This sign-in is over", Link: PathLogin, Err: err,
		WhatToDo: "It took longer than ten minutes, was started in another browser, or the browser does not keep cookies of this site. Start again."}
}

func errReplayed() *Error {
	return &Error{Status: http.StatusBadRequest, Code: CodeReplayed, Title: "This sign-in was used already", Link: PathLogin,
		WhatToDo: "The address of a finished sign-in works only once. Start again."}
}

func errCancelled(err error) *Error {
	return &Error{Status: http.StatusForbidden, Code: CodeCancelled, Title: "The identity provider did not sign you in", Link: PathLogin, Err: err,
		WhatToDo: "The sign-in was cancelled, or you are not assigned to this application. If it was not you, ask your administrator to assign you, then start again."}
}

func errProviderDown(err error) *Error {
	return &Error{Status: http.StatusServiceUnavailable, Code: CodeProviderDown, Title: "The identity provider can't be reached", Link: PathLogin, Err: err,
		WhatToDo: "Landed is running, but signing in has to wait. Try again in a minute; if it lasts, tell your administrator: the log has the cause."}
}

func errProviderWrong(err error) *Error {
	return &Error{Status: http.StatusForbidden, Code: CodeProviderWrong, Title: "The answer of the identity provider was refused", Link: PathLogin, Err: err,
		WhatToDo: "It did not pass a security check, so nobody was signed in. Start again; if it happens again, tell your administrator: the log says which check failed."}
}

func errGroupsOverage(claim string) *Error {
	return &Error{Status: http.StatusForbidden, Code: CodeGroupsOverage, Title: "Your group list is too long for the sign-in", Link: "",
		WhatToDo: fmt.Sprintf("You are in more groups than the identity provider puts into a token, so it left out the claim %q and Landed can't tell your role. "+
			"Ask your administrator to emit only the groups assigned to this application, or to use app roles (claim \"roles\").", claim)}
}

func errGroupsMissing(claim string) *Error {
	return &Error{Status: http.StatusForbidden, Code: CodeGroupsMissing, Title: "The identity provider did not say which groups you are in", Link: "",
		WhatToDo: fmt.Sprintf("The token has no claim %q, so Landed can't tell your role. "+
			"Ask your administrator to add that claim for this application, or to name the right claim or scope in Landed's configuration.", claim)}
}

func errNoRole(claim string) *Error {
	return &Error{Status: http.StatusForbidden, Code: CodeNoRole, Title: "You have no role here", Link: "",
		WhatToDo: fmt.Sprintf("You signed in, but none of the values of your claim %q gives a role in Landed. Ask your administrator to add you to one of the groups that do.", claim)}
}

func errNotFresh(at time.Time, to string) *Error {
	cause := errors.New("the ID token carries no auth_time although a fresh login was asked for: does the provider send it? (login.trust_prompt)")
	if !at.IsZero() {
		cause = fmt.Errorf("the ID token says auth_time %s: older than the sign-in that was asked for", at.UTC().Format(time.RFC3339))
	}
	return &Error{Status: http.StatusForbidden, Code: CodeNotFresh, Title: "The identity provider did not ask you again", Err: cause, Link: to,
		WhatToDo: "This decision needs a fresh login, and the identity provider’s answer does not show one. You are still signed in, and nothing was recorded. " +
			"Sign out at the identity provider and try again; if that does not help, tell your administrator."}
}

func errWeak(want, got string) *Error {
	return &Error{Status: http.StatusForbidden, Code: CodeNotFresh, Title: "This login is not strong enough", Link: "/",
		Err: fmt.Errorf("the ID token's acr is %q, login.step_up_acr asks for %q", clip(got, 100), want),
		WhatToDo: "This decision needs a login of another kind, for example with a second factor. You are still signed in, and nothing was recorded. " +
			"Sign in in that way, or ask your administrator which way it is."}
}

func errLoop() *Error {
	return &Error{Status: http.StatusForbidden, Code: CodeLoop, Title: "Signing in goes round in circles", Link: PathLogin,
		WhatToDo: "The identity provider signed you in three times, but your browser does not send the session cookie back. " +
			"Allow cookies for this site, open it under the address that your administrator configured, then start again."}
}

func errStore(err error) *Error {
	return &Error{Status: http.StatusServiceUnavailable, Code: CodeStore, Title: "Your session can't be checked right now", Err: err,
		WhatToDo: "The database that holds the sessions does not answer. Nothing was changed. Try again in a minute."}
}

func errCrossOrigin(err error) *Error {
	return &Error{Status: http.StatusForbidden, Code: CodeCrossOrigin, Title: "This request came from another site", Link: "/", Err: err,
		WhatToDo: "Nothing was changed. Open the page in Landed itself and repeat what you did there."}
}

func errFormToken() *Error {
	return &Error{Status: http.StatusForbidden, Code: CodeFormToken, Title: "This form belongs to another session", Link: "/",
		WhatToDo: "Nothing was changed. You signed in again after the page was made: reload it and repeat what you did."}
}
