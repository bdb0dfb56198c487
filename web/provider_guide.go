package web

// ProviderGuide says what a worker must set so that a provider's look-up finds it.
type ProviderGuide struct {
	About    Text
	Request  Text
	Fields   []GuideField
	Setup    []Text
	Tool     []Fact
	ToolWhy  Text
	Says     []Text // what evidence can and can't say
	Doubt    Text   // what the vendor's documents do not confirm
	Command  string // prints the code; "" = there is none
	NoAdvice string // why there is nothing else; "" = there is
}

// GuideField is one value that the worker sets.
type GuideField struct {
	Where string
	Name  Text
	Value Text
	Why   Text
}
