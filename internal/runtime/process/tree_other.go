//go:build !linux

package process

// Parent is not known here: 0.
func Parent(int) int { return 0 }

// Variable is not known here: "".
func Variable(int, string) string { return "" }

// Name is not known here: "".
func Name(int) string { return "" }

// KeepDescendants does nothing here: this system has no such parent.
func KeepDescendants() error { return nil }

// ReapOrphans does nothing here.
func ReapOrphans(int) {}
