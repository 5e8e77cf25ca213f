//go:build cluster && linux

package cluster_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// clock is the offset of the wall clock of a node's server and shims. They map the file, so that the clock jumps at
// once, also for a process started later. Elapsed time is measured by another clock, which is unchanged.
type clock struct {
	t    *testing.T
	path string
}

func newClock(t *testing.T) *clock {
	t.Helper()
	c := &clock{t: t, path: filepath.Join(t.TempDir(), "clock")}
	c.move(0)
	return c
}

// move sets the clock's offset.
func (c *clock) move(by time.Duration) {
	c.t.Helper()
	file, err := os.OpenFile(c.path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		c.t.Fatal(err)
	}
	_, err = file.Write(binary.NativeEndian.AppendUint64(nil, uint64(int64(by.Seconds()))))
	if err := errors.Join(err, file.Close()); err != nil {
		c.t.Fatal(err)
	}
}

// movedClock is added to package time.
const movedClock = `package time

import (
	"syscall"
	"unsafe"
)

var moved = movedFile()

func movedFile() *int64 {
	path, named := syscall.Getenv("HARNESS_TEST_CLOCK")
	if !named {
		return nil
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic("open the file of HARNESS_TEST_CLOCK: " + err.Error())
	}
	page, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("map the file of HARNESS_TEST_CLOCK: " + err.Error())
	}
	syscall.Close(fd)
	return (*int64)(unsafe.Pointer(&page[0]))
}

func movedBy() int64 {
	if moved == nil {
		return 0
	}
	return *moved
}
`

// reading is the place where package time reads the wall clock.
const reading = "sec, nsec, mono := runtimeNow()\n"

// movableClock makes the go tool build programs, with all their packages, whose wall clock is moved by the file that
// HARNESS_TEST_CLOCK names. The kernel cannot give a process another wall clock.
var movableClock = sync.OnceValues(func() (overlay string, err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("find the sources of package time: %w", err)
	}
	sources := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	original, err := os.ReadFile(filepath.Join(sources, "time.go"))
	if err != nil {
		return "", err
	}
	if strings.Count(string(original), reading) != 1 {
		return "", errors.New("package time reads the clock in another way than these tests know")
	}
	files := map[string]string{"time.go": strings.Replace(string(original), reading, reading+"\tsec += movedBy()\n", 1), "moved.go": movedClock}
	replace := map[string]string{}
	if err := os.MkdirAll(folder(), 0o755); err != nil {
		return "", err
	}
	for name, text := range files {
		path := filepath.Join(folder(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(sources, name)] = path
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(folder(), "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o600)
})
