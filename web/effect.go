package web

// EffectPage answers one question about one effect: did it land?
type EffectPage struct {
	Shell
	Head      EffectHead
	Version   string // of the effect, for the page script
	Poll      string // URL of the version
	Watching  bool   // nothing on the page can be typed into: refresh by itself
	Answer    Answer
	Look      LookBox
	Outcome   *Outcome
	Basis     Basis
	Evidence  *EvidencePanel
	History   []LookRow
	Decide    DecideBox
	Proposal  *ProposalBox
	Twins     []TwinCard
	Ack       *AckBox
	Team      TeamBox
	TeamForms *TeamForms // nil for who only looks
	Present   string     // URL that takes the beat of an open window
	Args      Payload
	Result    *Payload
	Attempts  []AttemptRow
	Events    []EventRow
	EventsCut string // says that older events are not shown
	Siblings  []SiblingRow
	RunURL    string // the list of the root run
	Facts     []Fact
}

// EffectHead names the effect.
type EffectHead struct {
	URL             string
	Subject         Text
	Tool, Operation Text
	Provider        Text
	Money           Text
	Class           string
	ClassMeaning    string
	State           Badge
	StateMeaning    string
	Began           Stamp
	Flags           []Badge
}

// Answer is the assessment in plain words.
type Answer struct {
	Tone        Tone
	Text        string // "Yes, it landed."
	Detail      string // one sentence more
	Recommend   string // "Close it as landed."
	Until       *Stamp
	Reasons     []Reason
	Countdowns  []Countdown
	Looked      *Stamp // when the newest evidence was pulled
	NeverLooked string // why there is none
}

// Reason is one reason line: a sentence with its time.
type Reason struct {
	Text string
	At   *Stamp
}

// LookBox is the order to ask the provider again.
type LookBox struct {
	URL     string
	Allowed bool
	Why     string // why not
	Next    *Stamp // when the collector asks by itself
	Running bool   // it is due now
}

// Outcome is what became of the newest resolution, and the ones before.
type Outcome struct {
	Title   string
	Tone    Tone
	By      Text
	Reason  Text
	Code    string
	Advice  string   // what the page recommended then
	Notes   []string // who approved, what was passed over, which rules asked
	At      Stamp
	Steps   []Step
	Earlier []OutcomeRow
	// Delivery is nil where the runtime asks by itself.
	Delivery *Delivery
}

// Step is one station on the way from a decision to a settled effect.
type Step struct {
	Name   string
	State  StepState
	Detail string
	At     *Stamp
}

// StepState says whether a station was reached.
type StepState string

// The states of a station.
const (
	StepDone   StepState = "done"
	StepNow    StepState = "now"
	StepLater  StepState = "later"
	StepFailed StepState = "failed"
)

// OutcomeRow is an earlier resolution.
type OutcomeRow struct {
	Title  string
	By     Text
	Reason Text
	At     Stamp
}

// Basis says whether evidence is a read by an id that was journaled before the
// effect, or a search.
type Basis struct {
	Handles []HandleNote
	Search  string // instead of handles
}

// HandleNote is one id at the provider that a worker journaled before the effect.
type HandleNote struct {
	Kind, Value Text
	Attempt     string
	Means       string // what that is worth for the evidence
}

// EvidencePanel is the newest look in full.
type EvidencePanel struct {
	Verdict     Badge
	Explanation Text
	Facts       []Fact
	Matches     []MatchCard
	Controls    []ControlRow
	Scopes      []ScopeRow
	Exchanges   []ExchangeRow
}

// MatchCard is one object at the provider.
type MatchCard struct {
	ID     Text
	URL    string // https, or empty
	Host   string // where URL leads
	Title  Text
	State  Badge
	Status Text
	Facts  []Fact
}

// ControlRow is one control of a look.
type ControlRow struct {
	Name   string
	Means  string
	Badge  Badge
	Detail Text
}

// ScopeRow is one place that a look covered or could not see.
type ScopeRow struct {
	Name   Text
	Badge  Badge
	Detail Text
}

// ExchangeRow is one request and its answer.
type ExchangeRow struct {
	Number            int
	Request, Response Text
	Took              string
}

// LookRow is one look of the history.
type LookRow struct {
	At          Stamp
	Verdict     Badge
	Explanation Text
	Adapter     Text
	Covers      string
	By          Text
}

// AttemptRow is one attempt.
type AttemptRow struct {
	Number     int
	Issue      int
	Phase      Badge
	Worker     Text
	Granted    Stamp
	SendBy     Stamp
	Lease      Stamp
	Fenced     *Stamp
	Report     *Stamp
	Error      Text
	Notes      []string
	ProviderID Text
}

// EventRow is one line of the timeline.
type EventRow struct {
	At     Stamp
	Text   string
	Tone   Tone
	Actor  Text
	Detail Text
}

// SiblingRow is another effect of the same root run.
type SiblingRow struct {
	URL             string
	Subject         Text
	Tool, Operation Text
	Money           Text
	State           Badge
	Began           Stamp
}

// Payload is args or result.
type Payload struct {
	Absent  string // why there is nothing to show
	Members []Member
	Whole   Text // what is not an object
	Hidden  string
	Size    string
	Digest  string
	Cut     string // what is not shown
	AllURL  string
}

// Member is one top-level member of an object.
type Member struct {
	Name     Text
	Value    Text
	Identity bool
	Long     bool // needs a box of its own
}
