//go:build race

package process_test

// slowness: the race detector makes everything several times slower, and other tests run at the same time. The promised
// times cover neither.
const slowness = 5
