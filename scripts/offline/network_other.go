//go:build !linux

package main

import "errors"

func leaveNetwork() error { return errors.New("it takes Linux") }
