//go:build !linux

package process

// Parent returns 0: this system does not provide it.
func Parent(int) int { return 0 }

// Variable returns "": this system does not provide it.
func Variable(int, string) string { return "" }

// Name returns "": this system does not provide it.
func Name(int) string { return "" }

// KeepDescendants does nothing: this system cannot do it.
func KeepDescendants() error { return nil }

// ReapOrphans does nothing on this system.
func ReapOrphans(int) {}
