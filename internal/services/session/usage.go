package session

import "harness/internal/runtime/wire"

// UsageBy is how usage is grouped.
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
	// Since and Before limit the days (ms): days that start at Since or later, and before Before.
	Since, Before int64
	// ProjectID selects the usage of one project, or with NoProject the usage outside projects.
	ProjectID, SessionID, Runtime string
	// Limit limits the number of rows: the largest first, or by day the newest first.
	Limit int
}

// Usage is the total of the day, project, session or runtime in Key; a day is in ms.
type Usage struct {
	Key      string
	Requests int64
	wire.Tokens
}
