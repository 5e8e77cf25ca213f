package runtime

import (
	"errors"
	"fmt"
	"strings"
)

// WithKind wraps err as an error of a kind (ErrUnavailable, ErrRequestGone, ...). It returns an error of that kind
// unchanged, so the message names the kind once.
func WithKind(kind, err error) error {
	if errors.Is(err, kind) {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// ReasonOf returns the reason why a runtime is unavailable (Status.Reason), without the prefix of ErrUnavailable.
func ReasonOf(err error) string {
	return strings.ReplaceAll(err.Error(), ErrUnavailable.Error()+": ", "")
}
