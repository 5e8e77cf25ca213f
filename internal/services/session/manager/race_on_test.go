//go:build race

package manager

// slowness: the race detector makes everything several times slower, and it runs beside everything else; promised times
// are for neither.
const slowness = 5
