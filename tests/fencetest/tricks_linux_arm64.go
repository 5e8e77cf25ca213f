package fencetest

// machineTricks returns the ways that exist only on this architecture.
func machineTricks() map[string]trick { return nil }

// machineAnswers are the errors of machineTricks.
func machineAnswers() map[string]string { return nil }
