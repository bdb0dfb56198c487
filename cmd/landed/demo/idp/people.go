package idp

// Person is somebody the visitor can be.
type Person struct {
	Subject  string
	Name     string
	Username string
	Email    string // may be empty, as in many directories
	Groups   []string
	// Role and About are shown on the page: one word, one sentence.
	Role, About string
	// Badge is one of "viewer", "operator", "approver", "auditor": the colour.
	Badge string
}

// Groups of the sandbox; map them to roles.
const (
	GroupViewers   = "landed-viewers"
	GroupOperators = "landed-operators"
	GroupApprovers = "landed-approvers"
	GroupAuditors  = "landed-auditors"
)

// DefaultPeople are a viewer, two operators (so that handing over can be tried),
// an approver and an auditor.
func DefaultPeople() []Person {
	return []Person{
		{Subject: "p-olivia", Name: "Olivia Marsh", Username: "olivia", Email: "olivia@sandbox.example", Groups: []string{GroupOperators},
			Role: "Operator", About: "Pulls evidence and decides: re-issue or close.", Badge: "operator"},
		{Subject: "p-dario", Name: "Dario Conti", Username: "dario", Email: "dario@sandbox.example", Groups: []string{GroupOperators},
			Role: "Operator", About: "Olivia’s colleague: try deciding the same effect as both.", Badge: "operator"},
		{Subject: "p-amara", Name: "Amara Okafor", Username: "amara", Email: "amara@sandbox.example", Groups: []string{GroupApprovers},
			Role: "Approver", About: "The second pair of eyes: approves what others proposed.", Badge: "approver"},
		{Subject: "p-jonas", Name: "Jonas Weber", Username: "jonas", Groups: []string{GroupAuditors},
			Role: "Auditor", About: "Reads who decided what, when and on which evidence.", Badge: "auditor"},
		{Subject: "p-mei", Name: "Mei Tanaka", Username: "mei", Email: "mei@sandbox.example", Groups: []string{GroupViewers},
			Role: "Viewer", About: "Sees everything on the desk, decides nothing.", Badge: "viewer"},
	}
}
