package shim_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"harness/internal/lib/boottime"
	"harness/internal/runtime/process/shim"
	"harness/tests/disktest"
)

// Without a renewal by its server, a runtime and its children are frozen at the end of the lease. They resume after a
// renewal, and are killed when other servers may have ended their turns.
func TestARuntimeStopsWithItsLease(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.sh(`sleep 300 & echo $$ $!; wait`, nil)
	var runtime, command int
	if _, err := fmt.Sscan(line(t, bufio.NewReader(a)), &runtime, &command); err != nil {
		t.Fatal(err)
	}
	states := func() string { return state(t, runtime) + state(t, command) }
	lease := shim.Lease{RunDir: p.host.RunDir}
	if lease.Held() {
		t.Error("there is a lease before there are others")
	}
	hold := func(stop, kill time.Duration) {
		t.Helper()
		if err := lease.Hold(boottime.Now()+stop, boottime.Now()+kill); err != nil {
			t.Fatal(err)
		}
	}
	hold(0, time.Hour)
	p.eventually("both are frozen", func() bool { return states() == "TT" })
	hold(time.Hour, 2*time.Hour)
	p.eventually("both go on", func() bool { return !strings.Contains(states(), "T") })
	hold(0, time.Hour)
	p.eventually("both are frozen again", func() bool { return states() == "TT" })
	if err := lease.Lift(); err != nil || lease.Held() {
		t.Fatal(err)
	}
	p.eventually("both go on without a lease", func() bool { return !strings.Contains(states(), "T") })
	hold(0, 0)
	p.end(a)
	if exit := a.Exit(); !strings.Contains(exit.Reason, "lease") {
		t.Errorf("exit %+v", exit)
	}
	p.eventually("nothing is left", func() bool { return len(p.left()) == 0 })
}

// A full disk does not prevent the renewal of a lease: otherwise a runtime that waits for space would be killed.
func TestALeaseIsRenewedOnAFullDisk(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	disk := disktest.New(t, "1m")
	p.host.RunDir = filepath.Join(disk.Path, "run")
	lease := shim.Lease{RunDir: p.host.RunDir}
	if err := lease.Hold(boottime.Now(), boottime.Now()+time.Hour); err != nil {
		t.Fatal(err)
	}
	a := p.sh(`echo $$; sleep 300`, nil)
	var runtime int
	if _, err := fmt.Sscan(line(t, bufio.NewReader(a)), &runtime); err != nil {
		t.Fatal(err)
	}
	p.eventually("it is frozen", func() bool { return state(t, runtime) == "T" })
	disk.Fill()
	if err := lease.Hold(boottime.Now()+time.Hour, boottime.Now()+2*time.Hour); err != nil {
		t.Fatal(err)
	}
	p.eventually("it goes on", func() bool { return state(t, runtime) != "T" })
	if err := lease.Hold(0, 0); err != nil {
		t.Fatal(err)
	}
	p.end(a)
}

// state returns the letter of a process's state, "" when it is gone.
func state(t *testing.T, pid int) string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return after[:1]
}
