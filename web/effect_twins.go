package web

// TwinCard is another effect that looks like the same deed under another key.
type TwinCard struct {
	URL       string
	Subject   Text
	Operation Text
	Money     Text
	State     Badge
	Began     Stamp
	Why       string
	Diff      []DiffRow
}

// DiffRow is one argument that differs.
type DiffRow struct {
	Name, Here, There Text
	Hidden            bool // the tool does not show its values
}
