//go:build race

package runtimetest

// longBytes is how long a long line is; with the race detector every byte costs many times as much.
const longBytes = 8 << 20
