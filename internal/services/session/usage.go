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
	UsageByModel   UsageBy = "model"
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

// Usage is the total of the day, project, session, runtime or model in Key; a day is in ms.
type Usage struct {
	Key      string
	Requests int64
	// Sessions counts the sessions that used something.
	Sessions int64
	wire.Tokens
	// Cost is in millionths of a US dollar, without the Unpriced tokens, whose models had no price on their day.
	Cost, Unpriced int64
}

// UsageSum is usage in groups. UnpricedModels lists the known models without a price, the most used first.
type UsageSum struct {
	Rows           []Usage
	Total          Usage
	UnpricedModels []string
}

// Price is what a model costs from a day on (ms, UTC), in millionths of a US dollar per million tokens.
type Price struct {
	// ID is "" for a built-in price.
	ID string
	// Model is a name, or the start of names followed by *.
	Model                 string
	Since                 int64
	Input, Cached, Output int64
	// Actor set it.
	Actor string
}
