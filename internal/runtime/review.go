package runtime

// The targets of a review.
const (
	ReviewUncommitted = "uncommittedChanges"
	ReviewBranch      = "baseBranch"
	ReviewCommit      = "commit"
	ReviewCustom      = "custom"
)

// Review says what to review.
type Review struct {
	// Delivery is inline (in the conversation) or detached (in one of its own), "" for the runtime's choice.
	Delivery string
	// Target is one of the targets above. Branch goes with ReviewBranch, SHA and Title with ReviewCommit, Instructions
	// with ReviewCustom.
	Target                           string
	Branch, SHA, Title, Instructions string
}
