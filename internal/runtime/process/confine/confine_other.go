//go:build !linux

package confine

import (
	"context"
	"fmt"
	"syscall"
)

// Attributes does nothing on this system.
func Attributes(*syscall.SysProcAttr, Plan) {}

// Run returns ErrUnsupported on this system.
func Run([]string) error { return ErrUnsupported }

// Try returns ErrUnsupported on this system.
func Try(context.Context, []string) error { return ErrUnsupported }

// Probe returns ErrUnsupported on this system.
func Probe(context.Context, []string) (userNamespace bool, err error) { return false, ErrUnsupported }

// FenceSupported returns ErrNoFence on this system.
func FenceSupported() error { return fmt.Errorf("%w: only Linux can", ErrNoFence) }
