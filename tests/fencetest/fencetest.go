// Package fencetest tries to get through a fence (confine.Fence). It has the known ways to reach a TCP port of this
// machine, a port to try them on, and the expected results of a fenced program.
//
// A test binary runs them as the fenced program: its TestMain calls Play first.
package fencetest
