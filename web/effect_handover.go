package web

// Delivery is how the newest resolution got to the runtime that parked the work.
type Delivery struct {
	State  Badge
	Target Text
	Detail string // why not yet, or what is left
	Reason Text   // the newest failure
	Next   *Stamp // when it is tried again
	Tries  []DeliveryTry
	Again  *RedeliverBox // nil = there is nothing to hand over again, or the person may not
}

// DeliveryTry is one call to the runtime.
type DeliveryTry struct {
	At      Stamp
	Target  Text
	Outcome Badge
	Detail  Text
	Took    string
}

// RedeliverBox has the resolution handed over once more.
type RedeliverBox struct {
	URL        string
	Resolution string
	Why        string
}
