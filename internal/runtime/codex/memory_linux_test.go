package codex_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/process/shim"
	"harness/internal/runtime/stdio"
)

// peak returns the maximum resident memory of a process so far, in bytes.
func peak(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		panic(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		panic(err)
	}
	return kib << 10
}

func readLongLine(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	came := make(chan int64, 1)
	launch := stdio.Launch{Marker: "reader-" + uuid.NewString(), Env: []string{fakeVariable + "=long"},
		Inherits: func(name string) bool { return name != runAsReader }}
	sink := func(batch runtime.Batch) {
		for _, s := range batch.Signals {
			if s.Method == "huge" {
				came <- int64(len(s.Raw))
			}
		}
		if batch.Stored != nil {
			batch.Stored()
		}
	}
	if dir != "" {
		launch.Shims, launch.Detach = &shim.Host{RunDir: dir, Command: []string{self, runAsShim}, Version: "test"}, true
	}
	c := codex.New(codex.Options{Bin: self, Setup: stdio.Setup{Launch: launch, Supervise: stdio.Options{Sink: sink}}})
	if err := c.Start(context.Background()); err != nil {
		return err
	}
	defer func() { _ = c.Stop(context.Background()) }()
	if _, err := c.Call(context.Background(), "most", nil); err != nil {
		return err
	}
	before := peak(os.Getpid())
	keeper := c.Status().Shim
	shimBefore := int64(0)
	if keeper != nil {
		shimBefore = peak(keeper.PID)
	}
	if _, err := c.Call(context.Background(), "long", map[string]int{"mib": longMiB}); err != nil {
		return err
	}
	size := <-came
	cost, shimCost := peak(os.Getpid())-before, int64(0)
	if keeper != nil {
		shimCost = peak(keeper.PID) - shimBefore
	}
	_, err = fmt.Println(size, cost, shimCost)
	return err
}

// A line of 64 MiB costs the server at most twice its size during the read, and its shim almost nothing.
func TestALongLineCostsTwiceItsSizeAtMost(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"child": "", "behind shim": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader := exec.CommandContext(t.Context(), os.Args[0])
			reader.Env = append(os.Environ(), runAsReader+"="+dir)
			out, err := reader.Output()
			if err != nil {
				t.Fatalf("the reader failed: %v\n%s", err, out)
			}
			var size, cost, shimCost int64
			if _, err := fmt.Sscan(string(out), &size, &cost, &shimCost); err != nil {
				t.Fatalf("read %q: %v", out, err)
			}
			t.Logf("a line of %d MiB costs the server %d MiB and the shim %d MiB", size>>20, cost>>20, shimCost>>20)
			if size < longMiB<<20 || cost > 2*size*raceFactor {
				t.Errorf("a line of %d MiB costs %d MiB, more than twice its size", size>>20, cost>>20)
			}
			if shimCost > 16<<20 {
				t.Errorf("a line of %d MiB costs the shim %d MiB", size>>20, shimCost>>20)
			}
		})
	}
}
