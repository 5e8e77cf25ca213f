package runtime

import (
	"errors"
	"fmt"
	"strings"
)

// WithKind wraps err as an error of a kind (ErrUnavailable, ErrRequestGone, ...). An error of that kind stays unchanged,
// so its message names the kind once.
func WithKind(kind, err error) error {
	if errors.Is(err, kind) {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// ReasonOf is the reason why a runtime is unavailable (Status.Reason), without the prefix of ErrUnavailable.
func ReasonOf(err error) string {
	return strings.ReplaceAll(err.Error(), ErrUnavailable.Error()+": ", "")
}
