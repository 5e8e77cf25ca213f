//go:build race

package stream

// shortened: the race detector makes everything several times slower; it looks for races here, not for differences.
const shortened = 10
