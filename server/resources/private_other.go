//go:build !linux

package resources

// KeepPrivate does nothing where a process cannot read another's environment.
func KeepPrivate() error { return nil }
