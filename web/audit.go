package web

// AuditPage is the audit trail, newest first.
type AuditPage struct {
	Shell
	Rows  []AuditRow
	Older string // URL of the rows before; empty at the end
	First string // URL of the newest rows; empty on them
}

// AuditRow is one audit row.
type AuditRow struct {
	Seq       string
	At        Stamp
	Kind      Text
	Result    Badge
	EffectURL string
	Effect    Text
	Tool      Text
	Actor     Text
	Name      Text
	Source    Text
	Change    string // "PARKED → COMMITTED"
	Code      string
	Reason    Text
	Evidence  Text
	Hash      string
	Body      Text
}

// MessagePage is an error, or any page that is only a message.
type MessagePage struct {
	Shell
	Notice    Notice
	Status    string // "404"
	RequestID string
}
