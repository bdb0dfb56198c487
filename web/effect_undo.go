package web

// UndoBox is what the runtime would be asked to undo, what was completed last
// first.
type UndoBox struct {
	Lead string
	Rows []UndoRow
	More string // that there may be more than are shown; empty = these are all
}

// UndoRow is one completed effect that would be undone.
type UndoRow struct {
	URL     string
	Subject Text
	Money   Text
	Tool    Text
	By      Text   // the tool that undoes it
	Note    string // its undo has begun, or it may be double
}
