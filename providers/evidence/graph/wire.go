package graph

import (
	"fmt"
	"net/url"
	"strings"
	"time"
)

// propertyName is the name of the extended property that holds the reference.
// Names are case-sensitive, and so is the choice of form: it never changes.
const propertyName = "LandedRef"

// Property is the id of the extended property that holds the reference.
const Property = "String {6f0a8c52-3c1d-4b7e-9a51-2f8e4d7c0b13} Name " + propertyName

// page is one answer with a list of messages.
type page struct {
	Value *[]struct {
		ID string `json:"id"`
	} `json:"value"`
	Next string `json:"@odata.nextLink"`
}

// message is what the adapter reads of a message.
type message struct {
	ID         string `json:"id"`
	InternetID string `json:"internetMessageId"`
	Subject    string `json:"subject"`
	SentAt     string `json:"sentDateTime"`
	CreatedAt  string `json:"createdDateTime"`
	Draft      *bool  `json:"isDraft"`
	Folder     string `json:"parentFolderId"`
	Link       string `json:"webLink"`
	Headers    []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"internetMessageHeaders"`
	Properties []struct {
		ID    string `json:"id"`
		Value string `json:"value"`
	} `json:"singleValueExtendedProperties"`
}

// selected are the properties of message.
const selected = "id,internetMessageId,subject,sentDateTime,createdDateTime,isDraft,parentFolderId,webLink,internetMessageHeaders"

// header returns the values of one header field.
func (m message) header(name string) []string {
	var out []string
	for _, h := range m.Headers {
		if strings.EqualFold(h.Name, name) {
			out = append(out, h.Value)
		}
	}
	return out
}

// property returns the values of our extended property; Exchange may write the
// GUID in another case.
func (m message) property() []string {
	var out []string
	for _, p := range m.Properties {
		if strings.EqualFold(p.ID, Property) {
			out = append(out, p.Value)
		}
	}
	return out
}

func (m message) at() time.Time {
	for _, s := range []string{m.SentAt, m.CreatedAt} {
		if at, err := time.Parse(time.RFC3339, s); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}

// WebHost is where Outlook on the web shows messages of the global cloud
// (learn.microsoft.com/graph/api/message-get). Links elsewhere are not kept.
const WebHost = "outlook.office365.com"

// link opens the message in Outlook on the web; empty = none that can be trusted.
func (m message) link() string {
	u, err := url.Parse(m.Link)
	if err != nil || u.Scheme != "https" || u.Host != WebHost || u.User != nil {
		return ""
	}
	return u.String()
}

func (m message) summary() string {
	return fmt.Sprintf("%.120s internetMessageId=%.120q %s=%.120q isDraft=%v", m.ID, m.InternetID, propertyName, m.property(), m.Draft != nil && *m.Draft)
}

// validID allows what ids of Exchange are made of, in both base64 alphabets.
func validID(s string) bool {
	return len(s) >= 1 && len(s) <= 1024 && strings.Trim(s, letters+"-_=+/") == ""
}

// literal is a string of OData.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
