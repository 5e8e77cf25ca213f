package stdio

import (
	"fmt"
	"os"
	"testing"

	"harness/internal/runtime/process"
)

// Each process of a runtime gets the arguments, variables and folder of its conversation, as a child and behind a
// shim.
func TestAProcessIsStartedWithItsOwnProgram(t *testing.T) {
	t.Parallel()
	for name, detach := range map[string]bool{"child": false, "behind shim": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, self := newRuntime(t, "", detach), ""
			command := k.launch.Command
			k.launch.Command = func() (string, []string, error) {
				path, args, err := command()
				self = path
				return path, args[:1], err // without its mode it is not an agent
			}
			k.launch.Env = []string{"KEPT=1", "CHANGED=no"}
			k.launcher = NewLauncher(k.launch)
			dir := t.TempDir()
			a := k.agent(func(_ *agent, o *Options) {
				o.Program = func() (Program, error) {
					return Program{Args: []string{""}, Env: []string{"CHANGED=yes"}, Dir: dir}, nil
				}
			})
			if got := a.must("notify", "t"); got != `"notified"` {
				t.Fatalf("got %s from %s", got, self)
			}
			pid := a.Status().PID
			if kept, changed := process.Variable(pid, "KEPT"), process.Variable(pid, "CHANGED"); kept != "1" ||
				changed != "yes" {
				t.Errorf("its variables are %q and %q", kept, changed)
			}
			if in, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); in != dir || err != nil {
				t.Errorf("it runs in %s, %v", in, err)
			}
		})
	}
}
