package opencode

// CheckRules is checkRules for the tests with the real OpenCode.
var CheckRules = checkRules //nolint:gochecknoglobals // how Go hands a test's function to the tests of the other package
