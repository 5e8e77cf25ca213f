//go:build !linux

package confine

import (
	"context"
	"fmt"
	"syscall"
)

// Attributes does nothing here.
func Attributes(*syscall.SysProcAttr, Plan) {}

// Run is not supported here: ErrUnsupported.
func Run([]string) error { return ErrUnsupported }

// Try is not supported here: ErrUnsupported.
func Try(context.Context, []string) error { return ErrUnsupported }

// Probe is not supported here: ErrUnsupported.
func Probe(context.Context, []string) (userNamespace bool, err error) { return false, ErrUnsupported }

// FenceSupported is not supported here: ErrNoFence.
func FenceSupported() error { return fmt.Errorf("%w: only Linux can", ErrNoFence) }
