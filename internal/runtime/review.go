package runtime

// The targets of a review.
const (
	ReviewUncommitted = "uncommittedChanges"
	ReviewBranch      = "baseBranch"
	ReviewCommit      = "commit"
	ReviewCustom      = "custom"
)

// Review describes the changes to review.
type Review struct {
	// Delivery is inline (in the conversation) or detached (in a separate one); "" leaves the choice to the runtime.
	Delivery string
	// Target is one of the targets above. Branch is for ReviewBranch, SHA and Title for ReviewCommit, Instructions
	// for ReviewCustom.
	Target                           string
	Branch, SHA, Title, Instructions string
}
