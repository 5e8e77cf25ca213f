// Package action executes the actions of extensions and queue workers: deciding an approval, writing to a transcript,
// steering a turn, queueing a job.
//
// It owns the validity and the scope of requests, that one idempotency key acts once, and the seven outcomes. The
// interfaces declared here hide how an action changes the product. It must never know HTTP, a host, or a job's
// meaning.
package action
