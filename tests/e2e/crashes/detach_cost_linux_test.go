package crashes

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"harness/internal/runtime/process"
	"harness/internal/runtime/process/shim"
	"harness/tests/programtest"
)

// The allowed cost of a shim: its private memory in KiB, and the additional median time of a line.
const (
	shimBudget  = 6 << 10
	addedBudget = 200 * time.Microsecond
)

// A shim of the released program is small while lines pass, and slows them little. The test measures cat, which
// returns every line, as a child and behind a shim, in turn. The machine is shared, so the best of several shims
// counts for each figure. Pages of the program file do not count. All shims and the server share them, and how many
// of them the kernel maps depends on the page cache (9 to 14 MiB for the same program).
func TestWhatAShimCosts(t *testing.T) {
	s := programtest.New(t)
	host := shim.Host{RunDir: s.RunDir(), Command: []string{build(t, "../../..", "cost"), "shim"}, Version: "cost"}
	added, most := time.Hour, 1<<30
	for range 6 {
		longer, resident := shimCost(t, host, process.Marker(s.DataDir, "cost"))
		// A line and its response are two lines through the shim.
		if added, most = min(added, longer), min(most, resident); added <= 2*addedBudget && most <= shimBudget {
			return
		}
	}
	t.Errorf("a line and its answer take %v longer, want at most %v; the shim had %d KiB of its own, want at most %d", added,
		2*addedBudget, most, shimBudget)
}

// shimCost returns the additional time of a line and its response through a shim, and the shim's maximum memory in
// KiB.
func shimCost(t *testing.T, host shim.Host, mark string) (longer time.Duration, most int) {
	t.Helper()
	a, err := host.Spawn(t.Context(), shim.Spec{Generation: uuid.Must(uuid.NewV7()).String(), Runtime: "cost",
		Path: "/bin/cat", Marker: mark}, os.Environ(), nil)
	if err != nil {
		t.Fatal(err)
	}
	child, err := process.Start(t.Context(), process.Spec{Path: "/bin/cat", Env: os.Environ(), Marker: mark})
	if err != nil {
		t.Fatal(err)
	}
	line := []byte(strings.Repeat("m", 300) + "\n")
	trip := func(w io.Writer, r *bufio.Reader) time.Duration {
		began := time.Now()
		if _, err := w.Write(line); err != nil {
			t.Fatal(err)
		}
		if _, err := r.ReadSlice('\n'); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	behind, direct := bufio.NewReader(a), bufio.NewReader(child.Stdout())
	const trips = 4000
	var through, straight, added []time.Duration
	for n := range trips {
		one, other := trip(a, behind), trip(child.Stdin(), direct)
		through, straight, added = append(through, one), append(straight, other), append(added, one-other)
		a.Ack(int64(n+1) * int64(len(line)))
		if n%200 == 199 {
			most = max(most, anonymousKiB(t, a.State.PID))
		}
	}
	t.Logf("median of %d there and back: %v as a child, %v behind a shim, %v of difference; the shim had at most %d KiB of its own",
		trips, middle(straight), middle(through), middle(added), most)
	go a.Stop(0)
	_, _ = io.Copy(io.Discard, a)
	a.Release()
	a.Forget()
	child.Stop(time.Second)
	child.Release()
	return middle(added), most
}

func middle(times []time.Duration) time.Duration {
	times = slices.Clone(times)
	slices.Sort(times)
	return times[len(times)/2]
}

// anonymousKiB returns the resident memory of a process that no file backs.
func anonymousKiB(t *testing.T, pid int) int {
	t.Helper()
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	status, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib
}
