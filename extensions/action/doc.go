// Package action executes the actions of extensions and queue workers: it decides approvals, writes to transcripts,
// steers turns, and queues jobs.
//
// It owns the validation and the scope of requests, the rule that one idempotency key acts once, and the seven
// outcomes. The interfaces declared here hide how an action changes the product. It must never know HTTP, a host, or a
// job's meaning.
package action
