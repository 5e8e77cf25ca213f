package shim_test

import (
	"bufio"
	"harness/internal/runtime/process"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"harness/internal/runtime/process/shim"
)

// A process of the runtime has the token: it may run as the same user and read the folder. The shim refuses it
// nevertheless, for any change to its environment and its parents. The attached server stays attached and gets a
// report.
func TestARuntimeCannotAttachToItsShim(t *testing.T) {
	for name, script := range map[string]string{
		"a child":                           `"$0" "$@"`,
		"a child without environment":       `env -i "$0" "$@"`,
		"an orphan in a session of its own": `env -i setsid sh -c '"$0" "$@" & exit 0' "$0" "$@"`,
		"a child in other namespaces":       `unshare -U -p -f "$0" "$@"`,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			report := filepath.Join(t.TempDir(), "report")
			var stderr lines
			a := p.start(script+"\nread line; echo \"still here: $line\"", stderr.add, func(spec *shim.Spec) {
				spec.Args = append(spec.Args, os.Args[0], attackArgument, p.host.RunDir, report)
			})
			var got []byte
			p.eventually("the attack is over", func() bool {
				var err error
				got, err = os.ReadFile(report)
				return err == nil
			})
			if !strings.HasPrefix(string(got), "refused") {
				t.Errorf("a process of the runtime tried to attach: %s", got)
			}
			if _, err := a.Write([]byte("hello\n")); err != nil {
				t.Fatal(err)
			}
			if rest := p.end(a); !strings.Contains(rest, "still here: hello") {
				t.Errorf("the attached server lost its runtime: %q", rest)
			}
			if !strings.Contains(stderr.text(), "refused a connection from process") {
				t.Errorf("the server got no report of the attempt: %q", stderr.text())
			}
		})
	}
}

// lines collects a runtime's stderr.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(line))
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

// A shim is the parent of its runtime's orphans, so it must also reap them.
func TestAShimReapsOrphans(t *testing.T) {
	p := newPlace(t)
	a := p.sh(`for i in 1 2 3 4 5 6 7 8 9 10; do sh -c 'sleep 0.01 & exit 0'; done; echo done; read line`, nil)
	out := bufio.NewReader(a)
	if got := line(t, out); got != "done" {
		t.Fatal(got)
	}
	p.eventually("no child of the shim is a zombie", func() bool {
		entries, err := os.ReadDir("/proc")
		if err != nil {
			t.Fatal(err)
		}
		children := 0
		for _, entry := range entries {
			if pid, err := strconv.Atoi(entry.Name()); err == nil && process.Parent(pid) == a.State.PID {
				children++
			}
		}
		return children == 1
	})
	if _, err := a.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	p.end(a)
}
