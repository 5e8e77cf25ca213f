package commands

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"harness/tests/polling"
	"harness/tests/programtest"
)

// Keys typed with the control key.
const (
	ctrlC = "\x03"
	ctrlD = "\x04"
)

// screen is a command in the foreground of a separate terminal, as a person sees it.
type screen struct {
	t        *testing.T
	cmd      *exec.Cmd
	keyboard *os.File
	ended    chan struct{}
	mu       sync.Mutex
	shown    bytes.Buffer
	passed   int // end of the output already awaited
}

// openTerminal creates a terminal. Text typed at the keyboard arrives at the line, and text written to the line
// appears at the keyboard.
func openTerminal(t *testing.T) (keyboard, line *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keyboard.Close() })
	raw, err := keyboard.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	number, failed := 0, error(nil)
	err = raw.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
			number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	line, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return keyboard, line
}

// open starts a command at a terminal.
func (u *terminal) open(args ...string) *screen {
	u.t.Helper()
	cmd := exec.Command(programtest.Program(u.t), args...)
	cmd.Env, cmd.Dir = append(append([]string{"NO_COLOR="}, u.Env...), u.env...), u.Workspace
	return inTerminal(u.t, cmd)
}

// inTerminal starts a command in the foreground of a separate terminal.
func inTerminal(t *testing.T, cmd *exec.Cmd) *screen {
	t.Helper()
	keyboard, line := openTerminal(t)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = line, line, line
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = line.Close() // the command has a copy
	s := &screen{t: t, cmd: cmd, keyboard: keyboard, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		part := make([]byte, 4096)
		for {
			n, err := keyboard.Read(part)
			s.mu.Lock()
			s.shown.Write(part[:n])
			s.mu.Unlock()
			if err != nil { // no program has the terminal open
				_ = cmd.Wait()
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-s.ended
	})
	return s
}

// awaits waits until a text appears after the previously awaited one.
func (s *screen) awaits(text string) {
	s.t.Helper()
	if !polling.Until(programtest.Patience, func() bool { return s.goesBy(text) }) {
		s.t.Fatalf("%v never shows %q:\n%s", s.cmd.Args[1:], text, s.all())
	}
}

func (s *screen) goesBy(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := bytes.Index(s.shown.Bytes()[s.passed:], []byte(text))
	if at >= 0 {
		s.passed += at + len(text)
	}
	return at >= 0
}

func (s *screen) types(text string) {
	s.t.Helper()
	if _, err := s.keyboard.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

func (s *screen) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

// ends waits for the command's end, which must have this exit code, and returns its whole output.
func (s *screen) ends(code int) string {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(programtest.Patience):
		s.t.Fatalf("%v does not end:\n%s", s.cmd.Args[1:], s.all())
	}
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Fatalf("%v: exit code %d, want %d\n%s", s.cmd.Args[1:], got, code, s.all())
	}
	return s.all()
}

// session creates a session whose agent asks before every action.
func (u *terminal) session() string {
	u.t.Helper()
	return programtest.Text(decoded(u.t, u.must("api", "POST", "/api/sessions", "-d", `{"approvalPolicy":"untrusted"}`)), "session", "sessionId")
}

const whetherToAllow = "or type what to do instead: "

// atATerminal runs the interactive commands like a person.
func atATerminal(t *testing.T, all *terminal) {
	exists := func(path string) bool { _, err := os.Stat(path); return err == nil }
	for name, test := range map[string]func(t *testing.T, u *terminal, session, file string){
		"yes": func(t *testing.T, u *terminal, session, file string) {
			s := u.open("run", "--approval-policy", "untrusted", "MOCK_CMD[touch "+file+"]")
			s.awaits("\x1b[2msession ")
			s.awaits("\x1b[33mapproval ")
			s.awaits(whetherToAllow)
			s.types("y\n")
			if s.ends(0); !exists(file) {
				t.Error("what was allowed was not done")
			}
		},
		"no, for a reason, without colours": func(t *testing.T, u *terminal, session, file string) {
			u.env = append(u.env, "NO_COLOR=1")
			s := u.open("run", "--session", session, "MOCK_CMD[touch "+file+"]")
			s.awaits(whetherToAllow)
			s.types("not on a Sunday\n")
			s.awaits("declined")
			if shown := s.ends(0); exists(file) || strings.Contains(shown, "\x1b") {
				t.Errorf("it was done, or in colours: %q", shown)
			}
			if got := u.must("sessions", "export", session, "-o", "jsonl"); !strings.Contains(got, "not on a Sunday") {
				t.Errorf("the reason is not in the transcript: %s", got)
			}
		},
		"always": func(t *testing.T, u *terminal, session, file string) {
			same := "MOCK_CMD[echo once >> " + file + "]"
			s := u.open("run", "--session", session, same+" "+same)
			s.awaits(whetherToAllow)
			s.types("a\n")
			shown := s.ends(0)
			if done, err := os.ReadFile(file); err != nil || string(done) != "once\nonce\n" || strings.Count(shown, whetherToAllow) != 1 {
				t.Errorf("done %q (%v), shown %s", done, err, shown)
			}
		},
		"questions": func(t *testing.T, u *terminal, session, _ string) {
			s := u.open("run", "--session", session, "MOCK_ASK MOCK_ASK")
			s.awaits("Which one?")
			s.awaits("2  B  second")
			s.awaits("answer: ")
			s.types("2\n")
			s.awaits("answer: ")
			s.types("2 of them\n")
			if shown := s.ends(0); !strings.Contains(shown, `["B"]`) || !strings.Contains(shown, `["2 of them"]`) {
				t.Errorf("the agent did not get the answers: %s", shown)
			}
		},
		"no person there": func(t *testing.T, u *terminal, session, file string) {
			s := u.open("run", "--session", session, "MOCK_CMD[touch "+file+"]")
			s.awaits(whetherToAllow)
			s.types(ctrlD)
			s.awaits("declined")
			if s.ends(0); exists(file) {
				t.Error("it was done without approval")
			}
		},
		"another client is first": func(t *testing.T, u *terminal, session, file string) {
			s := u.open("run", "--session", session, "MOCK_CMD[touch "+file+"]")
			s.awaits(whetherToAllow)
			u.must("approvals", "accept", u.must("approvals", "list", "--quiet", "--session", session))
			s.types("n\n")
			s.awaits("or expired")
			if s.ends(0); !exists(file) {
				t.Error("what was allowed elsewhere was not done")
			}
		},
		"broken off while it asks": func(t *testing.T, u *terminal, session, file string) {
			s := u.open("run", "--session", session, "MOCK_CMD[touch "+file+"]")
			s.awaits(whetherToAllow)
			s.types(ctrlC)
			if shown := s.ends(4); !strings.Contains(shown, "interrupted") || exists(file) {
				t.Errorf("shown %s", shown)
			}
			u.Eventually("nothing waits any more", func() bool {
				return u.must("approvals", "list", "--quiet", "--session", session) == ""
			})
		},
		"broken off before it is accepted": func(t *testing.T, u *terminal, session, _ string) {
			frames := u.open("sessions", "follow", session, "-o", "jsonl")
			frames.awaits(`"resumed"`)
			accepted, release := u.withholdAnswer()
			s := u.open("run", "--session", session, "MOCK_HOLD["+session+"]")
			<-accepted
			s.types(ctrlC)
			s.awaits("Interrupting")
			release()
			s.ends(4)
			frames.awaits(`"turn/completed"`)
			frames.awaits(`"interrupted"`)
		},
		"broken off while it answers, and followed": func(t *testing.T, u *terminal, session, _ string) {
			frames := u.open("sessions", "follow", session, "-o", "jsonl")
			frames.awaits(`"resumed"`)
			s := u.open("run", "--session", session, "MOCK_HOLD["+session+"]")
			s.awaits("holding")
			s.types(ctrlC)
			s.ends(4)
			frames.awaits(`"turn/completed"`)
			frames.awaits(`"interrupted"`)
			frames.types(ctrlC)
			frames.ends(0)
			people := u.open("sessions", "follow", session, "--after", "0")
			people.awaits("holding")
			u.must("sessions", "delete", u.session(), "--yes") // every client gets its event, and nothing else ends
			u.must("sessions", "send", session, "MOCK_REPLY[before\x1bcafter]")
			people.awaits("beforecafter")
			people.types(ctrlC)
			people.ends(0)
			if got := u.must("run", "--quiet", "--session", session, "MOCK_REPLY[before\x1bcafter]"); got != "before\x1bcafter" {
				t.Errorf("a program got %q", got)
			}
		},
		"a watch over approvals": func(t *testing.T, u *terminal, session, file string) {
			other := u.session()
			u.must("sessions", "send", session, "MOCK_CMD[touch "+file+"]")
			s := u.open("approvals", "list", "--watch", "--session", session)
			s.awaits("touch " + file)
			s.awaits(whetherToAllow)
			s.types("y\n")
			s.awaits("accepted")
			u.Eventually("it is done", func() bool { return exists(file) })
			s.types(ctrlC)
			s.ends(0)
			lines := u.open("approvals", "list", "--watch", "--session", other, "-o", "jsonl")
			u.must("sessions", "send", other, "MOCK_CMD[touch "+file+"-2]")
			lines.awaits("touch " + file + "-2")
			lines.types(ctrlC)
			if shown := lines.ends(0); strings.Contains(shown, whetherToAllow) {
				t.Errorf("a program is asked: %s", shown)
			}
			last := u.open("approvals", "list", "--watch", "--session", other)
			last.awaits(whetherToAllow)
			last.types(ctrlD) // leaving decides nothing
			last.ends(0)
			u.must("approvals", "decline", u.must("approvals", "list", "--quiet", "--session", other))
		},
		"a deletion": func(t *testing.T, u *terminal, session, _ string) {
			for _, answer := range []string{"n\n", "\n", ctrlD} {
				s := u.open("sessions", "delete", session)
				s.awaits("[y/N] ")
				s.types(answer)
				s.ends(1)
			}
			u.must("sessions", "show", session)
			s := u.open("sessions", "delete", session)
			s.awaits("[y/N] ")
			s.types("y\n")
			s.ends(0)
			if code, _, _ := u.run("", "sessions", "show", session); code != 1 {
				t.Errorf("after it was deleted: exit code %d", code)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := all.on(t)
			test(t, u, u.session(), filepath.Join(t.TempDir(), "made"))
		})
	}
}
