package recipe

import "github.com/landedhq/landed/providers/definition"

// file is one recipe as written. Texts with ${…} and expressions are kept as they
// are here; compile turns them into programs.
type file struct {
	Adapter string            `yaml:"adapter"` // name, e.g. inngest.signal
	Version string            `yaml:"version"` // changes when the way of delivering does
	Title   string            `yaml:"title"`   // the runtime, for people
	About   string            `yaml:"about"`   // what is called, in one sentence
	Params  definition.Params `yaml:"params"`
	Base    string            `yaml:"base"` // text over params; https
	// Auth lists the ways of proving who sends. The configured secrets choose.
	Auth []definition.AuthBlock `yaml:"auth"`
	// Address are the members of begin's resume beside "to". One without a default
	// is required.
	Address definition.Params `yaml:"address"`
	Example map[string]any    `yaml:"example"` // an address, for people; checked
	Setup   []string          `yaml:"setup"`   // what the workflow does to wait, and what is set up at the runtime

	Checks  []checkBlock `yaml:"checks"`
	Deliver deliverBlock `yaml:"deliver"`
	Rules   []ruleBlock  `yaml:"rules"` // for every answer
	Says    string       `yaml:"says"`  // text: the runtime's own words on a failure
	Probe   *probeBlock  `yaml:"probe"`

	// What may be promised. Buffers and Confirms must be said.
	Dedupe   *dedupeBlock `yaml:"dedupe"`
	Buffers  *bool        `yaml:"buffers"`
	Confirms *bool        `yaml:"confirms"`
	Residual string       `yaml:"residual"` // what is left to the consumer; needed without dedupe
}

type checkBlock struct {
	ID      string                  `yaml:"id"`
	When    string                  `yaml:"when"` // bool: ask at all
	Request definition.RequestBlock `yaml:"request"`
	Rules   []ruleBlock             `yaml:"rules"`
	Save    map[string]string       `yaml:"save"` // for later requests, as saved.name
}

type deliverBlock struct {
	Request definition.RequestBlock `yaml:"request"`
	Rules   []ruleBlock             `yaml:"rules"`
	Proof   string                  `yaml:"proof"` // bool: what a good answer has; empty = any 2xx is one
}

type probeBlock struct {
	Request definition.RequestBlock `yaml:"request"`
	Rules   []ruleBlock             `yaml:"rules"`
	Proof   string                  `yaml:"proof"`
}

type ruleBlock struct {
	When       string `yaml:"when"`
	Outcome    string `yaml:"outcome"`
	Detail     string `yaml:"detail"`
	RetryAfter string `yaml:"retry_after"` // seconds; empty = the header's
}

// dedupeBlock says where the resolution's id goes as the runtime's own key.
type dedupeBlock struct {
	Place string `yaml:"place"` // json, header, query
	Name  string `yaml:"name"`  // dotted path, header, parameter
	About string `yaml:"about"` // what the runtime does with a repeat, and for how long
}
