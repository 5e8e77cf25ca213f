package store

import "time"

const (
	// SpoolsKept is how long (ms) the offset of an exited process is kept. A starting server reads the process's
	// remaining output.
	SpoolsKept = 7 * 24 * 3600 * 1000
	// MessageKeysKept is how long the result of a message with a key is kept.
	MessageKeysKept = 24 * time.Hour
)
