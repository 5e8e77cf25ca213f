//go:build !race

package runtimetest

// longBytes is the length of a long line.
const longBytes = 64 << 20

// floodDeltas is the number of deltas of a flood.
const floodDeltas = 20_000
