package session

// Origin is why a turn changed a file.
type Origin struct {
	// Prompt is the message that began the turn, "" if there was none.
	Prompt string
	// RequestID is the request whose decision allowed the change, "" if none or several name the file.
	RequestID string
	DecidedBy Author
}
