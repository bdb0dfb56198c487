package web

import (
	"net/url"
	"strconv"
)

// The routes of the pages, in echo's notation. Handlers mount them, the
// functions below fill them.
const (
	RouteList        = "/"
	RouteEffect      = "/e/:id"
	RouteVersion     = "/e/:id/version"
	RouteLook        = "/e/:id/look"
	RouteAcknowledge = "/e/:id/acknowledge"
	RouteConfirm     = "/e/:id/decide/confirm"
	RouteDecide      = "/e/:id/decide"
	RouteCorrect     = "/e/:id/correct"
	RouteProposal    = "/e/:id/proposal"
	RouteRedeliver   = "/e/:id/redeliver"
	RouteReviews     = "/reviews"
	RouteBulks       = "/bulk"
	RouteBulk        = "/bulk/:id"
	RouteBulkConfirm = "/bulk/:id/confirm"
	RouteBulkStop    = "/bulk/:id/stop"
	RouteOutcomes    = "/outcomes"
	RouteAudit       = "/audit"
	RouteProviders   = "/providers"
	RouteLogin       = "/login"
	RouteLogout      = "/logout"
	RouteHealth      = "/healthz"
	RouteKeys        = "/.well-known/landed/webhook-keys.json"
	RouteReady       = "/readyz"
	RouteStatic      = "/static/:sum/:name"
	RouteAPI         = "/v1"
)

// ListQuery is the list's state in the URL: empty fields are left out.
type ListQuery struct {
	Query, State, Tool, Class, Provider, Namespace, RootRun string
	Newest                                                  bool
	Cause                                                   string // one burst of one cause
	Group                                                   string // GroupCause: one line per cause
	After                                                   string
	Claim                                                   string // journal.ClaimFilter
	Snoozed                                                 bool
}

// The names of the list's query parameters.
const (
	ParamQuery     = "q"
	ParamState     = "state"
	ParamTool      = "tool"
	ParamClass     = "class"
	ParamProvider  = "provider"
	ParamNamespace = "ns"
	ParamRootRun   = "run"
	ParamSort      = "sort"
	ParamAfter     = "after"
	ParamBefore    = "before"
	ParamArgs      = "args"
	ParamNote      = "note"
	ParamCause     = "cause"
	ParamGroup     = "group"
	ParamWatch     = "watch"
	WatchOff       = "off"
	GroupCause     = "cause"
	SortNewest     = "newest"
	ArgsAll        = "all"
)

// ListURL is the list, narrowed and sorted.
func ListURL(q ListQuery) string {
	v := url.Values{}
	for _, p := range []struct{ name, value string }{
		{ParamQuery, q.Query}, {ParamState, q.State}, {ParamTool, q.Tool}, {ParamClass, q.Class},
		{ParamProvider, q.Provider}, {ParamNamespace, q.Namespace}, {ParamRootRun, q.RootRun}, {ParamCause, q.Cause}, {ParamGroup, q.Group}, {ParamAfter, q.After}, {ParamClaim, q.Claim},
	} {
		if p.value != "" {
			v.Set(p.name, p.value)
		}
	}
	if q.Newest {
		v.Set(ParamSort, SortNewest)
	}
	if q.Snoozed {
		v.Set(ParamSnoozed, SnoozedYes)
	}
	if len(v) == 0 {
		return RouteList
	}
	return RouteList + "?" + v.Encode()
}

// EffectURL is the page of one effect: the target of every alert link.
func EffectURL(id string) string { return "/e/" + url.PathEscape(id) }

// EffectNoteURL is the effect's page with one of the Note* texts on top.
func EffectNoteURL(id, note string) string {
	return EffectURL(id) + "?" + ParamNote + "=" + url.QueryEscape(note)
}

// EffectArgsURL is the effect's page with nothing of the payloads left out.
func EffectArgsURL(id string) string {
	return EffectURL(id) + "?" + ParamArgs + "=" + ArgsAll + "#" + AnchorArgs
}

// VersionURL answers with the effect's version as JSON.
func VersionURL(id string) string { return EffectURL(id) + "/version" }

// LookURL takes the order to ask the provider again.
func LookURL(id string) string { return EffectURL(id) + "/look" }

// AcknowledgeURL takes the acknowledgement of a flag.
func AcknowledgeURL(id string) string { return EffectURL(id) + "/acknowledge" }

// RedeliverURL has a resolution handed over once more.
func RedeliverURL(id string) string { return EffectURL(id) + "/redeliver" }

// ConfirmURL takes the decision form and shows what would be recorded.
func ConfirmURL(id string) string { return EffectURL(id) + "/decide/confirm" }

// DecideURL takes the confirmed decision.
func DecideURL(id string) string { return EffectURL(id) + "/decide" }

// CorrectURL is the form for other arguments, and takes it.
func CorrectURL(id string) string { return EffectURL(id) + "/correct" }

// ProposalURL takes the second person's word.
func ProposalURL(id string) string { return EffectURL(id) + "/proposal" }

// ReviewsURL lists what waits for other people, and what policy settled before the
// given audit row; 0 = the newest.
func ReviewsURL(before int64) string {
	if before <= 0 {
		return RouteReviews
	}
	return RouteReviews + "?" + ParamBefore + "=" + strconv.FormatInt(before, 10)
}

// BulkURL is one set of effects that a person decides together, and what became
// of it.
func BulkURL(id string) string { return "/bulk/" + url.PathEscape(id) }

// BulkWatchOffURL is the same without reloading by itself.
func BulkWatchOffURL(id string) string { return BulkURL(id) + "?" + ParamWatch + "=" + WatchOff }

// BulkConfirmURL takes the order's form and shows what would be recorded.
func BulkConfirmURL(id string) string { return BulkURL(id) + "/confirm" }

// BulkStopURL ends a running bulk.
func BulkStopURL(id string) string { return BulkURL(id) + "/stop" }

// ReviewsNoteURL is the list with a note on top.
func ReviewsNoteURL(note string) string {
	return RouteReviews + "?" + ParamNote + "=" + url.QueryEscape(note)
}

// AuditURL is the audit trail from the row before the given one; 0 = the newest.
func AuditURL(before int64) string {
	if before <= 0 {
		return RouteAudit
	}
	return RouteAudit + "?" + ParamBefore + "=" + strconv.FormatInt(before, 10)
}

// ProviderURL is a provider's card on the page of the providers.
func ProviderURL(name string) string { return RouteProviders + "#p-" + url.PathEscape(name) }

// TryURL takes a look-up to try, and shows the page with its answer in view.
func TryURL(name string) string { return RouteProviders + "#try-" + url.PathEscape(name) }

// StaticURL is one embedded file under its checksum.
func StaticURL(sum, name string) string { return "/static/" + sum + "/" + name }

// Anchors of the effect page.
const (
	AnchorArgs     = "arguments"
	AnchorDecide   = "decide"
	AnchorOutcome  = "outcome"
	AnchorProposal = "proposal"
	AnchorDelivery = "delivery"
)
