package runtime

import (
	"errors"
	"fmt"
	"strings"
)

// WithKind is err as one of a kind (ErrUnavailable, ErrRequestGone, ...). One that is of it already stays as it is: its
// message names the kind once.
func WithKind(kind, err error) error {
	if errors.Is(err, kind) {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// ReasonOf is why a runtime is not available (Status.Reason), without the word that it is not.
func ReasonOf(err error) string {
	return strings.ReplaceAll(err.Error(), ErrUnavailable.Error()+": ", "")
}
