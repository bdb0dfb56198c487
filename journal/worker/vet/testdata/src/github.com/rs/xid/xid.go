// Package xid stands for the real one.
package xid

type ID [12]byte

func New() ID               { return ID{} }
func (i ID) String() string { return "" }
