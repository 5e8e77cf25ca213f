//go:build race

package runtimetest

// longBytes is how long a long line is, shorter than with other builds: with the race detector every byte costs many
// times as much.
const longBytes = 8 << 20

// floodDeltas are how many deltas a flood has.
const floodDeltas = 10_000
