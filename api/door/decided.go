package door

import "harness/internal/services/session"

// Already is what a client is shown about a request that another one decided.
func Already(decision, by string) string {
	done := map[string]string{"accept": "accepted", "decline": "declined", "cancel": "canceled"}[decision]
	if done == "" {
		done = "answered"
	}
	if by != "" {
		by = " by " + by
	}
	return "Already " + done + by + "."
}

// Late is Already for a client whose decision came too late.
func Late(settled *session.SettledError) string {
	decision := ""
	if settled.Request.Reply != nil {
		decision = settled.Request.Reply.Decision
	}
	return Already(decision, settled.Request.DecidedBy)
}
