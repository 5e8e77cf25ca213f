package commands_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/process/commands"
	"harness/internal/runtime/process/shim"
	"harness/tests/polling"
)

// playAgent makes the test binary an agent: it starts the commands in the variable, one per line, and waits for its
// end.
const playAgent = "HARNESS_TEST_AGENT_COMMANDS"

func TestMain(m *testing.M) {
	lines := os.Getenv(playAgent)
	if lines == "" {
		os.Exit(m.Run())
	}
	for line := range strings.Lines(lines) {
		variable, script, _ := strings.Cut(strings.TrimSpace(line), "|")
		cmd := exec.Command("sh", "-c", script)
		cmd.Env = append(os.Environ(), playAgent+"=", variable)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		go func() { _ = cmd.Wait() }()
	}
	select {}
}

// An agent's commands are processes of its shells, processes with a conversation in their environment, and processes
// that lost their parent. Each includes all its children, and ends together with them.
func TestCommandsOfAnAgent(t *testing.T) {
	t.Parallel()
	generation, base := fmt.Sprintf("test-%d-%d", os.Getpid(), time.Now().UnixNano()), 500_000+os.Getpid()%100_000
	second := func(n int) string { return strconv.Itoa(base*10 + n) }
	dir := t.TempDir()
	agent := exec.Command(os.Args[0])
	agent.Dir = dir
	agent.Env = append(os.Environ(), shim.GenerationVariable+"="+generation, playAgent+"="+strings.Join([]string{
		"NONE=|sleep " + second(1) + "; true",                     // the shell stays
		"NONE=|sleep " + second(2) + " &",                         // it loses its parent
		"ASKED=one|exec sleep " + second(3),                       // no shell is left, and it belongs to a conversation
		"ASKED=other|trap '' TERM; sleep " + second(4) + "; true", // it ignores SIGTERM
	}, "\n"))
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agent.Process.Kill(); _ = agent.Wait() })
	p := commands.Process{Generation: generation, Agent: agent.Process.Pid, Variables: []string{"ASKED"}}
	var tasks []runtime.BackgroundTask
	find := func(conversation string) bool {
		var err error
		if tasks, err = p.Tasks(conversation); err != nil {
			t.Fatal(err)
		}
		return len(tasks) == 3
	}
	if !polling.Until(10*time.Second, func() bool { return find("one") && runs(second(2)) }) {
		t.Fatalf("found %+v", tasks)
	}
	for _, task := range tasks {
		mine := strings.Contains(task.Command, second(3))
		if real, err := filepath.EvalSymlinks(dir); err != nil || task.Shared == mine || !task.CanEnd || task.Dir != real ||
			time.Since(time.UnixMilli(task.StartedAt)).Abs() > time.Minute || strings.Contains(task.Command, second(4)) {
			t.Errorf("a task is %+v, %v", task, err)
		}
	}
	for _, conversation := range []string{"one", "other"} {
		find(conversation)
		for _, task := range tasks {
			if err := p.End(t.Context(), task.ID); err != nil {
				t.Errorf("end %s: %v", task.Command, err)
			}
			if err := p.End(t.Context(), task.ID); !errors.Is(err, runtime.ErrNoBackground) {
				t.Errorf("end %s again: %v", task.Command, err)
			}
		}
	}
	for n := 1; n <= 4; n++ {
		if runs(second(n)) {
			t.Errorf("sleep %s still runs", second(n))
		}
	}
	if agent.Process.Signal(syscall.Signal(0)) != nil {
		t.Error("the agent was ended, too")
	}
}

func runs(text string) bool {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range lines {
		if line, err := os.ReadFile(name); err == nil && strings.HasPrefix(string(line), "sleep\x00"+text) {
			return true
		}
	}
	return false
}
