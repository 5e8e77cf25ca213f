//go:build race

package stream

// shortened: the race detector slows everything down several times. These runs look for races, not for differences.
const shortened = 10
