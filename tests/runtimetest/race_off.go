//go:build !race

package runtimetest

// longBytes is how long a long line is.
const longBytes = 64 << 20

// floodPieces are how many deltas a flood has.
const floodPieces = 20_000
