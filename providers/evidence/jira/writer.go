package jira

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/landedhq/landed/journal"
)

// Marks says where the reference is written; the zero value holds the defaults of
// Config.
type Marks struct {
	LabelPrefix string
	PropertyKey string
}

// CreateBody returns the body of POST /rest/api/3/issue for an issue that carries
// ref, and is all that a worker must get right. fields holds the issue's own fields
// (project, issuetype, summary and so on); the label is added to its labels, and the
// issue property beside them.
//
// Jira refuses the request with 400 where the field Labels is not on the screen for
// creating; put it there, since the search needs it. It has no idempotency key: the
// same body sent twice makes two issues, so the tool is of class journal_deduped or
// at_most_once.
func CreateBody(fields map[string]any, m Marks, ref string) ([]byte, error) {
	if !journal.ValidRef(ref) {
		return nil, errors.New("jira: the reference is not 32 lower-case hex digits")
	}
	c := Config{LabelPrefix: m.LabelPrefix, PropertyKey: m.PropertyKey}.withDefaults()
	if err := errors.Join(checkWord("label_prefix", c.LabelPrefix), checkWord("property_key", c.PropertyKey)); err != nil {
		return nil, fmt.Errorf("jira: %w", err)
	}
	marked := maps.Clone(fields)
	if marked == nil {
		marked = map[string]any{}
	}
	labels := []any{c.LabelPrefix + ref}
	switch given := marked["labels"].(type) {
	case nil:
	case []string:
		for _, l := range given {
			labels = append(labels, l)
		}
	case []any:
		labels = append(labels, given...)
	default:
		return nil, fmt.Errorf("jira: labels are no list but %T", given)
	}
	marked["labels"] = labels
	b, err := json.Marshal(map[string]any{
		"fields":     marked,
		"properties": []any{map[string]any{"key": c.PropertyKey, "value": map[string]string{"ref": ref}}},
	})
	if err != nil {
		return nil, fmt.Errorf("jira: encoding the issue: %w", err)
	}
	return b, nil
}

// HandleOf returns the handle's kind and value of the issue that the effect made: a
// worker that learned its key or id and has more to do before it commits journals it,
// and evidence is then a read by id, without the search's lag. Never that of an issue
// which was there before.
func HandleOf(keyOrID string) (kind, value string, err error) {
	if !validID(keyOrID) {
		return "", "", fmt.Errorf("jira: %.60q is no key or id of an issue", keyOrID)
	}
	return HandleKind, keyOrID, nil
}
