package lost

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// unsynced returns the files in a server's data directory that the server does not sync itself, and why.
func unsynced() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"SQLite's, and what it syncs":                regexp.MustCompile(`/harness\.db(-wal|-shm|\.new-\d+.*)?$`),
		"what was synced, true at any time":          regexp.MustCompile(`/harness\.db-synced$`),
		"a lock, which has no content":               regexp.MustCompile(`/(harness\.|migrate\.)?lock$`),
		"an agent's own":                             regexp.MustCompile(`/credentials/namespaces/|/codex-home/`),
		"what a shim keeps while it runs, by design": regexp.MustCompile(`/run/[^/]+/(spool/.*|stderr.*|shim\.log|socket|line-\d+)$`),
		"a log of what runtimes said, for people":    regexp.MustCompile(`/native/`),
	}
}

// traced is a successful system call.
var (
	unfinished = regexp.MustCompile(`^(\d+) +(.*) <unfinished \.\.\.>$`)
	resumed    = regexp.MustCompile(`^(\d+) +<\.\.\. \w+ resumed>(.*)$`)
	written    = regexp.MustCompile(`^\d+ +(?:write|pwrite64)\(\d+<([^>]+)>.* = \d+$`)
	synced     = regexp.MustCompile(`^\d+ +f(?:data)?sync\(\d+<([^>]+)>\) += 0$`)
	named      = regexp.MustCompile(`^\d+ +(?:rename|link)at2?\(AT_FDCWD(?:<[^>]*>)?, "([^"]+)", AT_FDCWD(?:<[^>]*>)?, "([^"]+)".* = 0$`)
	removed    = regexp.MustCompile(`^\d+ +unlinkat\(AT_FDCWD(?:<[^>]*>)?, "([^"]+)".* = 0$`)
	made       = regexp.MustCompile(`^\d+ +openat\(.*O_CREAT.* = \d+<([^>]+)>$`)
)

// disk tracks which data of a folder's files is on disk after the system calls read so far.
type disk struct {
	t *testing.T
	// dirty are the files written since their last sync. fresh are the created files without a durable name. unnamed are
	// the durable names whose folder was not synced since.
	dirty, fresh, unnamed map[string]bool
	kept                  int
}

func (d *disk) read(line string) {
	d.t.Helper()
	if m := written.FindStringSubmatch(line); m != nil {
		d.dirty[m[1]] = true
	} else if m := made.FindStringSubmatch(line); m != nil {
		d.fresh[m[1]] = true
	} else if m := removed.FindStringSubmatch(line); m != nil {
		delete(d.fresh, m[1])
	} else if m := synced.FindStringSubmatch(line); m != nil {
		delete(d.dirty, m[1])
		for name := range d.unnamed {
			if filepath.Dir(name) == m[1] {
				delete(d.unnamed, name)
			}
		}
	} else if m := named.FindStringSubmatch(line); m != nil && d.fresh[m[1]] {
		if d.dirty[m[1]] {
			d.t.Errorf("%s gets its name before its content is on the disk", m[2])
		}
		delete(d.fresh, m[1])
		d.unnamed[m[2]] = true
		d.kept++
	}
}

// The content of a server's own files is completely on disk before the file gets its name, and the name is on disk
// soon after. So no key, id or note is empty after a power loss.
func TestWhatAServerKeepsIsSynced(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("HARNESS_TOOLS=workspace.read", "HARNESS_NATIVE_TOOLS=off"))
	trace, program := filepath.Join(t.TempDir(), "trace"), filepath.Join(t.TempDir(), "traced")
	script := fmt.Sprintf("#!/bin/sh\nexec strace -D -f -y -qq --seccomp-bpf -s 0 -o %s "+
		"-e trace=openat,write,pwrite64,fsync,fdatasync,renameat,renameat2,linkat,unlinkat %s \"$@\"\n", trace, s.Program)
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	server := s.StartBinary(program)
	server.WaitRuntime()
	session := server.CreateSession(nil)
	events := server.Follow("threadId=" + session)
	if status := events.WaitTurn(server.Send(session, "MOCK_REPLY[kept]")); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
	server.Stop()

	file, err := os.Open(trace)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	d := &disk{t: t, dirty: map[string]bool{}, fresh: map[string]bool{}, unnamed: map[string]bool{}}
	begun := map[string]string{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if m := unfinished.FindStringSubmatch(line); m != nil {
			begun[m[1]] = line[:len(line)-len(" <unfinished ...>")]
			continue
		}
		if m := resumed.FindStringSubmatch(line); m != nil {
			line = begun[m[1]] + m[2]
		}
		if strings.Contains(line, s.DataDir) {
			d.read(line)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	ours := func(name string) bool {
		for _, one := range unsynced() {
			if one.MatchString(name) {
				return false
			}
		}
		return strings.HasPrefix(name, s.DataDir+"/")
	}
	for name := range d.fresh {
		if ours(name) {
			t.Errorf("%s was made in its place, so a loss of power may leave a part of it", name)
		}
	}
	for name := range d.unnamed {
		if ours(name) {
			t.Errorf("the folder of %s was not synced, so a loss of power may take its name", name)
		}
	}
	if d.kept < 5 { // node id, private and public audit log key, key of tools, note about tools
		t.Errorf("the trace shows %d files that were kept", d.kept)
	}
}
