//go:build !race

package runtimetest

// longBytes is how long a long line is.
const longBytes = 64 << 20

// floodDeltas are how many deltas a flood has.
const floodDeltas = 20_000
