package callers

import (
	"os"
	"os/exec"
	"testing"
)

// A process that was listed and ended before it was looked at may have left its connection to one that was not listed:
// it takes another look.
func TestAProcessThatEndedMeanwhileIsLookedForAgain(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	own := os.Getpid()
	if caller, broken := started(gone.Process.Pid, map[int]int{gone.Process.Pid: 0}, []int{own}); caller.Inside || !broken {
		t.Errorf("%+v, broken %t", caller, broken)
	}
	if caller, broken := started(1, map[int]int{1: 0}, []int{own}); caller.Inside || broken {
		t.Errorf("process 1: %+v, broken %t", caller, broken)
	}
}
