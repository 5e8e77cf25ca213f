//go:build race

package manager

// slowness allows for the race detector, which makes everything several times slower and runs beside other tests. The
// promised times cover neither.
const slowness = 5
