package contract

// Beyond lists the deliberate differences no recording shows: no recorded request or frame comes near them, so the replay cannot see them.
// Each has a test of its own where it is built. Topic, Exchange and Place are empty.
func Beyond() []Row {
	return []Row{
		{
			What:   "a body whose objects and arrays are nested deeper than 100 levels is 400, as one that is no JSON",
			Reason: "codex-manager set no bound; it would be stored and sent on inside of other documents, and codex reads 128 levels",
		},
		{
			What:   "slow, silent and flooding peers, and more connections than there should be, are bounded: [limits.md](limits.md)",
			Reason: "the original let one peer take the server's memory from all others",
		},
		{
			What:   "reading a session changes nothing and tells nobody anything: no `deprecationNotice` follows it",
			Reason: "the original asked codex for the whole history at every read, and each time codex's advice against that was sent to all clients",
			Routes: []string{"GET /api/sessions/{sessionId}"},
		},
		{
			What:   "a turn that ended with its runtime process has an entry of type `turn.error`, too, and it is announced before the turn's end",
			Reason: "the original's turn stayed silent; its message had been accepted",
			Routes: []string{"GET /api/sessions/{sessionId}", "GET /api/stream"},
		},
		{
			What: "an entry of the runtime has the times at which it began and ended itself, as live, and keeps the place it began in: an answer that " +
				"a message broke off stands before the message",
			Reason: "the original gave every item its turn's times once the turn was stored, and moved what it did not find in codex's history",
		},
		{
			What:   "turns that were rolled back leave the transcript; `session_rolled_back` tells followers of the thread which",
			Reason: "the original went on showing them from its own store; who ignores the event sees them go when it reads again, as after any rollback",
			Routes: []string{"POST /api/sessions/{sessionId}/rollback", "GET /api/sessions/{sessionId}"},
		},
		{
			What:   "the text of an item that still runs is in its entry; one that its turn's interruption, failure or process cut short keeps it and is `canceled`",
			Reason: "the original showed such entries empty, and complete once the turn was over",
			Routes: []string{"GET /api/sessions/{sessionId}"},
		},
	}
}
