//go:build race

package session

// slowness: the race detector makes everything several times slower, and it runs beside everything else; promised times
// are for neither.
const slowness = 5
