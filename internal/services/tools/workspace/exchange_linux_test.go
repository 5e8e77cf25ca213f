package workspace_test

import "golang.org/x/sys/unix"

// exchange swaps two names atomically.
func exchange(one, other string) error {
	return unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
}
