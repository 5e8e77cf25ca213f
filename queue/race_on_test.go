//go:build race

package queue

// shortened: the race detector makes SQLite several times slower. Its runs search for races here, not for differences.
const shortened = 10
