//go:build !race

package stream

const shortened = 1
