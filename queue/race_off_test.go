//go:build !race

package queue

const shortened = 1
