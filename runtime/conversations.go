package runtime

import (
	"context"
	"encoding/json"
)

// Forker is a runtime that can go on from a conversation in a second one.
type Forker interface {
	// ForkThread makes a conversation with the history of another one; its ID is that of the session it becomes.
	ForkThread(ctx context.Context, threadID string) (Thread, error)
}

// Compactor is a runtime that can shorten what it remembers of a conversation.
type Compactor interface {
	// CompactThread begins to; it returns the runtime's own answer.
	CompactThread(ctx context.Context, threadID string) (json.RawMessage, error)
}

// TerminalCleaner is a runtime whose conversations may leave programs running behind their turns.
type TerminalCleaner interface {
	// CleanTerminals ends them; it returns the runtime's own answer.
	CleanTerminals(ctx context.Context, threadID string) (json.RawMessage, error)
}

// Reviewer is a runtime that can review changes in a turn of its own.
type Reviewer interface {
	// ReviewThread begins a review; it returns the runtime's own answer.
	ReviewThread(ctx context.Context, threadID string, review Review) (json.RawMessage, error)
}

// The targets of a review.
const (
	ReviewUncommitted = "uncommittedChanges"
	ReviewBranch      = "baseBranch"
	ReviewCommit      = "commit"
	ReviewCustom      = "custom"
)

// Review says what is to be reviewed.
type Review struct {
	// Delivery is inline (in the conversation) or detached (in one of its own), "" for the runtime's choice.
	Delivery string
	// Target is one of the targets above. Branch goes with ReviewBranch, SHA and Title with ReviewCommit, Instructions with ReviewCustom.
	Target                           string
	Branch, SHA, Title, Instructions string
}

// Words for what an adapter may be able to do with a conversation, as in UnsupportedError.Operation.
const (
	OpFork      = "fork"
	OpCompact   = "compact"
	OpTerminals = "background terminals"
	OpReview    = "review"
)
