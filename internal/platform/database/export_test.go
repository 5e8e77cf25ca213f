package database

import "time"

// Silence is how long a connection to Postgres may be silent before it is looked after.
const Silence time.Duration = silence

// ProbeTimeout bounds that probe.
const ProbeTimeout time.Duration = probeTimeout

// MajorVersion is majorVersion.
var MajorVersion = majorVersion
