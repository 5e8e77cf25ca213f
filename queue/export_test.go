package queue

// Shortened divides the long tests' work under -race.
const Shortened = shortened
