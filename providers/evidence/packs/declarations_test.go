package packs_test

import (
	"testing"

	"github.com/landedhq/landed/providers/evidence/packs/schematest"
)

// typed is a pack whose vendor publishes types for its interface in a client, and
// no description that is current or free to use.
type typed struct {
	dir   string // of a package of .ci/descriptions
	files []string
	open  []string // fields of answers that may have any name
	// deviations are findings that are meant, with the reason.
	deviations map[string]string
	// types are those of one request, by method and path.
	types map[string]types
}

type types struct {
	query  string // "" = a client hides it behind names of its own
	body   string
	answer map[int]string // by status
}

func typedPacks() map[string]typed {
	return map[string]typed{
		"slack.message": {
			dir:   "@slack/web-api/dist/types/",
			files: []string{"request/common.d.ts", "request/conversations.d.ts", "response/ConversationsHistoryResponse.d.ts"},
			open:  []string{"/messages/*/metadata/event_payload/landed_ref"},
			types: map[string]types{"GET /api/conversations.history": {query: "ConversationsHistoryArguments", answer: map[int]string{200: "ConversationsHistoryResponse"}}},
		},
		"adyen.transfer": {
			dir: "@adyen/api-library/lib/src/",
			files: []string{"services/transfers/transfersApi.d.ts", "typings/transfers/findTransfersResponse.d.ts", "typings/transfers/transferData.d.ts",
				"typings/transfers/links.d.ts", "typings/transfers/link.d.ts", "typings/transfers/amount.d.ts"},
			deviations: map[string]string{"FindTransfersResponse/data/*/status": "the contract tries a status that nobody has heard of"},
			types:      map[string]types{"GET /btl/v4/transfers": {query: "getAllTransfers", answer: map[int]string{200: "FindTransfersResponse"}}},
		},
		"hubspot.ticket": {
			dir: "@hubspot/api-client/lib/codegen/crm/tickets/models/",
			files: []string{"PublicObjectSearchRequest.d.ts", "FilterGroup.d.ts", "Filter.d.ts", "CollectionResponseWithTotalSimplePublicObjectForwardPaging.d.ts",
				"SimplePublicObject.d.ts", "ForwardPaging.d.ts", "NextPage.d.ts", "BatchReadInputSimplePublicObjectId.d.ts", "SimplePublicObjectId.d.ts",
				"BatchResponseSimplePublicObject.d.ts", "BatchResponseSimplePublicObjectWithErrors.d.ts", "StandardError.d.ts"},
			open: []string{"/results/*/properties/landed_ref", "/results/*/properties/subject", "/results/*/properties/hs_pipeline_stage", "/results/*/properties/hs_object_id",
				"/errors/*/context/ids"},
			types: map[string]types{
				"POST /crm/v3/objects/tickets/search": {body: "PublicObjectSearchRequest", answer: map[int]string{200: "CollectionResponseWithTotalSimplePublicObjectForwardPaging"}},
				"POST /crm/v3/objects/tickets/batch/read": {body: "BatchReadInputSimplePublicObjectId",
					answer: map[int]string{200: "BatchResponseSimplePublicObject", 207: "BatchResponseSimplePublicObjectWithErrors"}},
			},
		},
	}
}

// Where only a client's types are to be had: every parameter and field that a
// pack writes and a fake answers with is declared, and of its type.
func TestPacksKeepToTheVendorsTypes(t *testing.T) {
	t.Parallel()
	for pack, v := range typedPacks() {
		t.Run(pack, func(t *testing.T) {
			t.Parallel()
			var files [][]byte
			for _, f := range v.files {
				files = append(files, schematest.Read(t, v.dir+f))
			}
			declared := schematest.ParseDeclarations(files...)
			check := func(e exchange) (out []schematest.Finding) {
				at := e.r.Method + " " + e.r.URL.Path
				want, ok := v.types[at]
				if !ok || want.answer[e.status] == "" {
					return []schematest.Finding{{Where: at, What: "no types are named here"}}
				}
				if want.query != "" {
					out = declared.CheckQuery(want.query, e.r.URL.Query())
				}
				if want.body != "" {
					out = append(out, declared.Check(want.body, e.body)...)
				}
				return append(out, declared.Check(want.answer[e.status], e.answer)...)
			}
			held, c := newFindings(), contracts()[pack]
			c.dialect = held.watched(c.dialect, check)
			t.Cleanup(func() { held.report(t, pack, v.deviations) }) // even if the fake refuses
			checkRequests(t, c)
			checkStates(t, c)
			checkPages(t, c)
			for at, e := range held.last {
				if v.types[at].query == "" {
					e.r.URL.RawQuery = "" // nothing knows it
				}
			}
			held.checkCatches(t, v.open, check)
		})
	}
}
