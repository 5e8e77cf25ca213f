package environment

import (
	"fmt"
	"os"
	"path"
	"syscall"
)

// GiveToOwner changes the owner of a file below a runtime's home, and of the folders above it, to the home's owner.
// That may be another user (HARNESS_RUNTIME_USER). It does not follow links.
func GiveToOwner(home *os.Root, name string) error {
	owner, err := home.Stat(".")
	if err != nil {
		return fmt.Errorf("see whose home it is: %w", err)
	}
	whose, ok := owner.Sys().(*syscall.Stat_t)
	if !ok || int(whose.Uid) == os.Geteuid() {
		return nil
	}
	for ; name != "." && name != "/"; name = path.Dir(name) {
		if err := home.Lchown(name, int(whose.Uid), int(whose.Gid)); err != nil {
			return fmt.Errorf("give a file to the runtime's user: %w", err)
		}
	}
	return nil
}
