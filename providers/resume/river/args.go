package river

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/landedhq/landed/providers/resume"
)

// Member is the job argument that holds the message.
const Member = "landed"

// address is begin's resume.
type address struct {
	To    string                     `json:"to"`
	Kind  string                     `json:"kind"`
	Queue string                     `json:"queue"`
	Args  map[string]json.RawMessage `json:"args"`
}

func parse(raw []byte) (address, error) {
	var a address
	if err := resume.Address(raw, &a); err != nil {
		return a, err
	}
	switch {
	case a.Kind == "":
		return a, errNoKind
	case len([]rune(a.Kind)) > 127: // River's table: kind_length
		return a, errors.New("the kind of job is longer than the 127 characters that River takes")
	case a.Queue != "" && !queueName(a.Queue):
		return a, fmt.Errorf("%q is no name of a queue: River takes up to 64 lower-case letters and digits, with single underscores or hyphens between them", a.Queue)
	}
	if _, taken := a.Args[Member]; taken {
		return a, fmt.Errorf("the effect's resume has an own job argument %q: that is where the message goes", Member)
	}
	return a, nil
}

// queueName is River's rule (river v0.51.2, client.go, validateQueueName).
func queueName(s string) bool {
	return len(s) <= 64 && regexp.MustCompile(`^(?:[a-z0-9])+(?:[_|\-]?[a-z0-9]+)*$`).MatchString(s)
}

// jobArgs are a job's arguments: the effect's own, and the message beside them. The
// shape below is not written, body is; River reads of it that the resolution's id
// makes the job unique, and nothing else does.
type jobArgs struct {
	kind string
	body []byte

	Landed struct {
		Data struct {
			ResolutionID string `json:"resolution_id" river:"unique"`
		} `json:"data"`
	} `json:"landed"`
}

func newArgs(a address, m resume.Message) (jobArgs, error) {
	message, err := json.Marshal(m.Payload())
	if err != nil {
		return jobArgs{}, err
	}
	all := map[string]json.RawMessage{Member: message}
	for name, v := range a.Args {
		all[name] = v
	}
	body, err := json.Marshal(all)
	return jobArgs{kind: a.Kind, body: body}, err
}

// Kind is the consumer's.
func (a jobArgs) Kind() string { return a.kind }

// MarshalJSON gives the arguments.
func (a jobArgs) MarshalJSON() ([]byte, error) { return a.body, nil }
