package fencetest

// machineTricks are the ways of this machine alone.
func machineTricks() map[string]trick { return nil }

// machineAnswers are the errors of machineTricks.
func machineAnswers() map[string]string { return nil }
