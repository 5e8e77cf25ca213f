package confine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"harness/internal/runtime/process/confine"
	"harness/internal/runtime/process/doors"
	"harness/tests/fencetest"
)

func fenceOf(m *fencetest.Machine) *confine.Fence { return &confine.Fence{Ports: []uint16{m.Port()}} }

func TestNoTrickConnectsToAFencedPort(t *testing.T) {
	for name, ground := range runs() {
		t.Run(name, func(t *testing.T) {
			g, m := ground(t), fencetest.New(t)
			viewed := g.plan()
			viewed.Fence = fenceOf(m)
			for how, plan := range map[string]confine.Plan{"files hidden": viewed, "a fence alone": {Fence: fenceOf(m)}} {
				t.Log(how)
				fencetest.Compare(t, fencetest.Results(t, g.sh(plan, m.Command(g.program, "*"))), fencetest.Answers())
			}
			m.Untouched()
		})
	}
}

func TestFenceAppliesToRuntimeUser(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can choose a user
	}
	g, m := newGround(t, otherUID), fencetest.New(t)
	g.user = -1
	fencetest.Compare(t, fencetest.Results(t, g.sh(confine.Plan{User: true, UID: otherUID, GID: otherUID, Fence: fenceOf(m)}, m.Command(g.program, "*"))),
		fencetest.Answers())
	m.Untouched()
}

// All descendants of a fenced program are fenced, too, even detached ones.
func TestDescendantsStayBehindTheFence(t *testing.T) {
	for name, ground := range runs() {
		t.Run(name, func(t *testing.T) {
			g, m := ground(t), fencetest.New(t)
			for how, script := range map[string]string{
				"a child": "%s", "a session of its own": "setsid -w %s", "an orphan": "out=$(setsid sh -c '%s &' ); echo \"$out\"",
				"a user namespace": "unshare -U -r %s",
			} {
				play := m.Command(g.program, "*")
				if strings.Contains(script, "'%s") {
					play = strings.ReplaceAll(play, "'", `'\''`)
				}
				got := fencetest.Results(t, g.sh(confine.Plan{Fence: fenceOf(m)}, fmt.Sprintf(script+" || true", play)))
				t.Log(how)
				delete(got, "a descriptor of the listener's")
				want := fencetest.Answers()
				delete(want, "a descriptor of the listener's")
				fencetest.Compare(t, got, want)
			}
			m.Untouched()
		})
	}
}

// A fence blocks the ports that are registered when the program starts, not when the plan was made.
func TestAFenceKeepsPortsThatServersRegistered(t *testing.T) {
	g, m := newGround(t, -1), fencetest.New(t)
	folder := filepath.Join(g.root, "doors")
	plan := confine.Plan{Fence: &confine.Fence{Doors: []string{folder}}}
	only := func() string { return fencetest.Results(t, g.sh(plan, m.Command(g.program, "IPv4")))["IPv4"] }
	if got := only(); got != "ok" {
		t.Errorf("before it is registered: %s", got)
	}
	release, _, err := doors.Register(folder, []string{folder}, m.Port())
	if err != nil {
		t.Fatal(err)
	}
	if got := only(); got != "EACCES" {
		t.Errorf("registered: %s", got)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if got := only(); got != "ok" {
		t.Errorf("afterwards: %s", got)
	}
}

func TestMachineSupportsFences(t *testing.T) {
	if err := confine.FenceSupported(); err != nil {
		t.Error(err)
	}
	if (confine.Plan{Fence: &confine.Fence{}}).Empty() {
		t.Error("a plan with a fence is empty")
	}
}

// BenchmarkStart measures the cost of a view and a fence for the start of a program.
func BenchmarkStart(b *testing.B) {
	for name, fence := range map[string]*confine.Fence{"without": nil, "fenced": {Ports: []uint16{1}}} {
		b.Run(name, func(b *testing.B) {
			plan, err := json.Marshal(confine.Plan{Fence: fence})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				cmd := exec.Command("/proc/self/exe", stageArgument, string(plan), "/bin/true")
				cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
			}
		})
	}
}
