// Command offline runs a command with no network but loopback, and without the keys of model providers. A command that
// passes needs neither. If it cannot create a separate network (this needs root on Linux), it reports so and uses the
// existing network.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./scripts/offline COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	runtime.LockOSThread() // the network belongs to the thread
	if err := leaveNetwork(); err != nil {
		fmt.Fprintf(os.Stderr, "offline: running with this machine's network, as one of its own cannot be made: %v\n", err)
	}
	path, err := exec.LookPath(os.Args[1])
	if err == nil {
		err = syscall.Exec(path, os.Args[1:], append(keyless(os.Environ()), "GOPROXY=off"))
	}
	fmt.Fprintf(os.Stderr, "offline: %s: %v\n", os.Args[1], err)
	os.Exit(127)
}

// keyless returns an environment without the keys of model providers.
func keyless(environment []string) []string {
	return slices.DeleteFunc(environment, func(assignment string) bool {
		name, _, _ := strings.Cut(assignment, "=")
		return strings.HasSuffix(name, "_API_KEY") || strings.HasSuffix(name, "_AUTH_TOKEN")
	})
}
