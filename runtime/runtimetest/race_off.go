//go:build !race

package runtimetest

// longBytes is how long a long line is.
const longBytes = 64 << 20
