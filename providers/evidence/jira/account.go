package jira

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/faults"
)

// account is who the token acts for.
type account struct {
	blind string // why the project can't be seen; "" = it can
}

const browse = "BROWSE_PROJECTS"

// writes are the permissions that an account of Landed must not have. Those that
// everybody has in a context of "reporter" count too: it could write then.
func writes() []string {
	return []string{"CREATE_ISSUES", "EDIT_ISSUES", "DELETE_ISSUES", "TRANSITION_ISSUES", "ADD_COMMENTS", "ADMINISTER_PROJECTS", "ADMINISTER"}
}

// identify asks once a session who the token is and what it may do. Both are asked
// because searching is open to everybody: nobody in particular gets an empty answer
// and no error.
func (l *look) identify(ctx context.Context) (*account, error) {
	if l.s.account != nil {
		return l.s.account, nil
	}
	var me struct {
		AccountID string `json:"accountId"`
		Active    *bool  `json:"active"`
	}
	if err := l.get(ctx, "myself", nil, &me, func() string { return fmt.Sprintf("an account, named %v", me.AccountID != "") }); err != nil {
		return nil, err
	}
	if me.AccountID == "" {
		return nil, faults.Bad("Jira's answer is no account")
	}
	if me.Active != nil && !*me.Active {
		return nil, &evidence.ProviderError{Kind: evidence.FaultForbidden, Detail: "the token's account is not active"}
	}
	who, err := l.permissions(ctx)
	if err == nil {
		l.s.account = who
	}
	return who, err
}

// permissions asks what the account may do in the project. A project that is not
// there and one that it can't browse look alike.
func (l *look) permissions(ctx context.Context) (*account, error) {
	project := l.s.a.cfg.Project
	blind := &account{blind: fmt.Sprintf("there is no project %s, or the account may not browse it: grant it Browse Projects", project)}
	var p permissions
	ask := append([]string{browse}, writes()...)
	err := l.get(ctx, "mypermissions", url.Values{"projectKey": {project}, "permissions": {strings.Join(ask, ",")}}, &p, func() string {
		return "permissions " + strings.Join(p.held(ask), " ")
	})
	if code := status(err); code == http.StatusNotFound || code == http.StatusBadRequest {
		return blind, nil
	}
	if err != nil {
		return nil, err
	}
	if _, ok := p.Permissions[browse]; !ok {
		return nil, faults.Bad("Jira's answer does not tell the account's permissions")
	}
	held := p.held(ask)
	if could := slices.DeleteFunc(slices.Clone(held), func(k string) bool { return k == browse }); len(could) > 0 && !l.s.a.cfg.AllowUnverified {
		return nil, &evidence.ProviderError{Kind: evidence.FaultForbidden,
			Detail: fmt.Sprintf("the account may also write in project %s (%s): %s, or set allow_unverified for a token with read scopes only", project, strings.Join(could, ", "), howToGetAToken)}
	}
	if !slices.Contains(held, browse) {
		return blind, nil
	}
	return &account{}, nil
}

// held returns those of keys that the account has.
func (p permissions) held(keys []string) []string {
	var out []string
	for _, k := range keys {
		if p.Permissions[k].Have {
			out = append(out, k)
		}
	}
	return out
}
