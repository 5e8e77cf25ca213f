// Package action executes what extensions and queue workers ask for: deciding an approval, writing to a transcript,
// steering a turn, queueing a job.
//
// It owns which requests are valid, what they may touch (scope), that one idempotency key acts once, and the seven
// outcomes. How each action changes the product is behind the interfaces declared here; it must never know HTTP, a
// host, or a job's meaning.
package action
