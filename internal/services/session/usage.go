package session

import "harness/internal/runtime/wire"

// UsageBy is a grouping of usage.
type UsageBy string

// The groupings of usage.
const (
	UsageByDay     UsageBy = "day"
	UsageByProject UsageBy = "project"
	UsageBySession UsageBy = "session"
	UsageByRuntime UsageBy = "runtime"
)

// UsageQuery selects usage; "" or 0 selects all.
type UsageQuery struct {
	By UsageBy
	// Since and Before bound the days (ms): those that begin at Since or later, and before Before.
	Since, Before int64
	// ProjectID selects the usage in a project, NoProject in none.
	ProjectID, SessionID, Runtime string
	// Limit bounds the number of rows, the largest first; by day the newest.
	Limit int
}

// Usage is the total of a day, project, session or runtime, which Key names; a day in ms.
type Usage struct {
	Key      string
	Requests int64
	wire.Tokens
}
