package database

import "time"

// Silence is how long a Postgres connection may be silent before it is checked.
const Silence time.Duration = silence

// ProbeTimeout bounds that probe.
const ProbeTimeout time.Duration = probeTimeout

// MajorVersion is majorVersion.
var MajorVersion = majorVersion
