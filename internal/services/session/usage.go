package session

import "harness/internal/runtime/wire"

// UsageBy is what usage is added up by.
type UsageBy string

// What usage can be added up by.
const (
	UsageByDay     UsageBy = "day"
	UsageByProject UsageBy = "project"
	UsageBySession UsageBy = "session"
	UsageByRuntime UsageBy = "runtime"
)

// UsageQuery selects what was used; what is "" or 0 selects nothing by it.
type UsageQuery struct {
	By UsageBy
	// Since and Before bound the days (ms): those that begin at Since or later, and before Before.
	Since, Before int64
	// ProjectID selects what was used in a project, NoProject in none.
	ProjectID, SessionID, Runtime string
	// Limit is how many rows there are at most, the largest first; by day it is the newest.
	Limit int
}

// Usage is what was used in all by a day, project, session or runtime; Key is which, a day as ms.
type Usage struct {
	Key      string
	Requests int64
	wire.Tokens
}
