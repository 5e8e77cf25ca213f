package fencetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// argument makes a test binary run tricks. A Target as JSON and a pattern of names (path.Match) follow it.
const argument = "fence-tricks"

// Target is what tricks try to reach: a fenced port and an open port of this machine, a process outside the fence
// with a descriptor of it, and a socket in the abstract namespace.
type Target struct {
	Fenced, Open, PID, FD int
	Abstract              string
}

// Command returns a shell command that makes a program run the tricks with names that match a pattern (path.Match).
// It prints a JSON object with a result for each: "ok", or the name of the error.
func (t Target) Command(program, names string) (string, error) {
	text, err := json.Marshal(t)
	return fmt.Sprintf("%s %s '%s' '%s'", program, argument, text, names), err
}

// Play runs tricks if this process was started for that, and then exits.
func Play() {
	if len(os.Args) != 4 || os.Args[1] != argument {
		return
	}
	var to Target
	if err := json.Unmarshal([]byte(os.Args[2]), &to); err != nil {
		os.Exit(2)
	}
	results := map[string]string{}
	for name, try := range tricks() {
		plays, err := path.Match(os.Args[3], name)
		if err != nil {
			os.Exit(2)
		}
		if plays {
			results[name] = nameOf(try(to))
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		os.Exit(3)
	}
	os.Exit(0)
}

func nameOf(err error) string {
	var errno unix.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	default:
		return err.Error()
	}
}

// Answers are the expected results of a fenced program, by the name of a trick. ENOTSUP is EOPNOTSUPP.
func Answers() map[string]string {
	all := map[string]string{
		"open port": "ok", "open port by IPv6": "ok", "IPv4": "EACCES", "IPv6": "EACCES", "mapped": "EACCES",
		"non-blocking": "EACCES", "by name of the protocol": "EACCES", "MPTCP": "EPROTONOSUPPORT",
		"MPTCP by IPv6": "EPROTONOSUPPORT", "pair of MPTCP": "EPROTONOSUPPORT", "SMC": "EPROTONOSUPPORT",
		"SMC by protocol": "EPROTONOSUPPORT", "SMC over TCP": "ENOPROTOOPT", "fast open by sendto": "ENOTSUP",
		"fast open by sendmsg": "ENOTSUP", "fast open by sendmmsg": "ENOTSUP",
		"fast open by the flags of a message": "EPIPE", "fast open by connect": "EACCES",
		"fast open of another address":         "connected to the open port",
		"connect after dissolving an open one": "EACCES", "io_uring": "ENOSYS", "another thread": "EACCES",
		"a thread's own descriptors": "EACCES", "a socket out of a message": "EACCES",
		"a descriptor of the listener's": "EPERM", "a raw socket": "EPERM", "abstract socket": "EPERM",
		"own abstract socket": "ok",
	}
	for name, answer := range machineAnswers() {
		all[name] = answer
	}
	return all
}
