// Package crashstates creates the possible states of a folder after a power loss. It uses a recording of the system
// calls that wrote to the folder.
//
// A write is durable if a sync of its file started after the write ended, and the sync ended before the power loss.
// Each block of every other write is kept or lost, in any order, and a block may be torn. It is for tests only.
package crashstates

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// Strace returns the flags for strace. The path of the recording and the program follow them.
func Strace() []string {
	return []string{"-D", "-f", "-qq", "--seccomp-bpf", "-ttt", "-y", "-xx", "-s", "400000", "-e",
		"trace=open,openat,write,pwrite64,fsync,fdatasync,ftruncate,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat",
		"-o"}
}

// call is a system call: the lines of the recording on which it started and ended, and its start time in Unix
// seconds.
type call struct {
	kind, args string
	begin, end int
	at         float64
}

// never is the end line of a call that did not end.
const never = math.MaxInt

// readCalls reads the successful calls of a recording, in the order of their starts.
func readCalls(path string) (calls []*call, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	begun := map[string]*call{}
	var all []*call
	for number := 0; lines.Scan(); number++ {
		thread, rest, _ := strings.Cut(lines.Text(), " ")
		said, rest, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
		at, err := strconv.ParseFloat(said, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d of %s is %.80s", number, path, lines.Text())
		}
		var one *call
		if resumed, is := strings.CutPrefix(rest, "<... "); is {
			if one = begun[thread]; one == nil {
				continue
			}
			delete(begun, thread)
			_, tail, _ := strings.Cut(resumed, " resumed>")
			one.args += tail
		} else {
			kind, args, is := strings.Cut(rest, "(")
			if !is {
				continue // a signal or an exit
			}
			one = &call{kind: kind, args: args, begin: number, end: never, at: at}
			all = append(all, one)
			if head, unfinished := strings.CutSuffix(args, "<unfinished ...>"); unfinished {
				one.args = head
				begun[thread] = one
				continue
			}
		}
		if one.end = number; failed(one.args) {
			one.kind = ""
		}
	}
	for _, one := range all {
		if one.kind != "" {
			calls = append(calls, one)
		}
	}
	return calls, lines.Err()
}

// failed reports whether a call's text ends with an error or without a result.
func failed(args string) bool {
	at := strings.LastIndex(args, " = ")
	return at < 0 || strings.HasPrefix(args[at+3:], "-") || strings.HasPrefix(args[at+3:], "?")
}

// texts returns the strings among a call's arguments.
func (c *call) texts() (texts []string) {
	for rest := c.args; ; {
		_, after, found := strings.Cut(rest, `"`)
		if !found {
			return texts
		}
		text, after, _ := strings.Cut(after, `"`)
		texts, rest = append(texts, unescape(text)), after
	}
}

// unescape decodes a text that strace wrote as \xNN.
func unescape(text string) string {
	plain, err := hex.DecodeString(strings.ReplaceAll(text, `\x`, ""))
	if err != nil {
		return text
	}
	return string(plain)
}

// file returns the path of a call's descriptor, "" if it has none.
func (c *call) file() string {
	head, rest, found := strings.Cut(c.args, "<")
	if !found || strings.ContainsAny(head, `",`) {
		return ""
	}
	path, _, _ := strings.Cut(rest, ">")
	return unescape(path)
}

// number returns the argument at a position from the end.
func (c *call) number(fromEnd int) int64 {
	args := c.args
	if at := strings.LastIndex(args, ")"); at >= 0 {
		args = args[:at]
	}
	parts := strings.Split(args, ", ")
	n, err := strconv.ParseInt(strings.TrimSpace(parts[len(parts)-1-fromEnd]), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("crashstates: %s has no number there: %.200s", c.kind, c.args)) // the parser misread it
	}
	return n
}
