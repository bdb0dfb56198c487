package web

// ProviderListPage says of every configured provider whether its answers can be
// believed, and lets a person try one.
type ProviderListPage struct {
	Shell
	Summary string
	Jumps   []ProviderJump
	Cards   []ProviderCard
}

// ProviderJump leads to a card of the same page.
type ProviderJump struct {
	Name   Text
	URL    string
	Health Badge
}

// ProviderCard is one configured provider.
type ProviderCard struct {
	ID     string // of the element, and the end of the ids in it
	Name   Text
	Kind   Text // the adapter
	Mode   Badge
	Looks  string // how it is asked, in one sentence
	Health ProviderHealth
	Pace   PacePanel
	Lag    LagPanel
	Sheet  []SheetRow
	Guide  ProviderGuide
	Try    TryBox
}

// ProviderHealth says how the looks went lately, and what that means now.
type ProviderHealth struct {
	Badge  Badge
	Title  string // "It answers, and its controls passed."
	Detail string
	Said   Text   // what went wrong, in the adapter's or the provider's words
	Until  *Stamp // when Landed asks again
	Worth  string // what an empty answer proves
	Facts  []Fact
}

// PacePanel is how often the provider may be asked, and how often it is.
type PacePanel struct {
	Facts []Fact
	Note  string
}

// LagPanel is how long the provider takes to show what landed.
type LagPanel struct {
	InForce string
	Why     string // which of declared and measured it is
	Facts   []Fact
	Unknown string // why nothing is measured
	Lost    string // a warning
}

// SheetRow is one line of the capability sheet in words.
type SheetRow struct {
	Name  string
	Value []Text
	Means string
}

// TryBox is the try-it form of a provider, with its answer once it was asked.
type TryBox struct {
	URL      string
	Provider string
	Closed   string // why it is not offered
	Until    *Stamp // until when not
	Ref      string
	RefError string
	EffectAt string // the page that shows the right reference
	Since    []Option
	SinceErr string
	Result   *TryResult
}

// TryResult is what one look-up asked and what came back.
type TryResult struct {
	At        Text // the provider
	Tone      Tone
	Title     string
	Said      Text // the fault or the doubt
	Advice    string
	Facts     []Fact
	Controls  []ControlRow
	Scopes    []ScopeRow
	Matches   []MatchCard
	Exchanges []ExchangeRow
}

// The fields of the try-it form.
const (
	FieldTryProvider = "provider"
	FieldTryRef      = "ref"
	FieldTrySince    = "since"
)

// providerExample shows how a provider is added.
const providerExample = `providers:
  helpdesk:
    rt:
      url: "https://rt.example.com"
      token: env:RT_TOKEN
      queue: Support
      field: Landed Ref`
