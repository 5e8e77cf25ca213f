package session

import "time"

// DeletePatience is how long all of a deletion waits for the runtime. With what the store needs, and what a caller may
// have waited for before, whoever deletes has an answer within 10 s, whatever the runtime does.
const DeletePatience = 6 * time.Second
