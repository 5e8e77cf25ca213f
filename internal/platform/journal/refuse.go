package journal

import "errors"

// Refuse marks the error of a Unit that wrote nothing, such as a lost compare-and-set or an unknown row. The unit's
// caller gets err, and the rest of the batch continues without a rollback.
func Refuse(err error) error { return &refusal{err: err} }

type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// refused returns the error inside a refusal.
func refused(err error) (error, bool) {
	var r *refusal
	if errors.As(err, &r) {
		return r.err, true
	}
	return nil, false
}
