//go:build !linux

package sandbox

import (
	"errors"

	"harness/internal/services/tools"
)

// bound does nothing: the container has the limits.
func bound(tools.Limits) error { return nil }

func canBound() error { return errors.New("bubblewrap is there on Linux only") }

func group(int, tools.Limits) (func(), error) { return nil, canBound() }

// seal and refuseSetID do nothing: the container runs Linux, which enforces this.
func seal() error { return nil }

func refuseSetID() error { return nil }
