//go:build !linux

package workspace_test

import "os"

// exchange swaps two names, with a short gap.
func exchange(one, other string) error {
	for _, step := range [][2]string{{one, one + ".aside"}, {other, one}, {one + ".aside", other}} {
		if err := os.Rename(step[0], step[1]); err != nil {
			return err
		}
	}
	return nil
}
