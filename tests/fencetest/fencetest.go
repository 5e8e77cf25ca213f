// Package fencetest tries to get through a fence (confine.Fence): it has the ways to a TCP port of this machine that are
// known, a port to try them on, and what a fenced program gets.
//
// A test binary plays them in the place of a fenced program: its TestMain calls Play first.
package fencetest
