//go:build race

package runtimetest

// longBytes is the length of a long line. It is shorter than in other builds: with the race detector every byte costs
// many times as much.
const longBytes = 8 << 20

// floodDeltas is the number of deltas of a flood.
const floodDeltas = 10_000
