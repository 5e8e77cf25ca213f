package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"harness/internal/services/tools"
)

// bound sets resource limits for this process and its children. Memory and processor limits apply to each process. The
// number of processes does not limit root, for whom there is group.
func bound(limits tools.Limits) error {
	set := func(resource int, value int64) error {
		if value <= 0 {
			return nil
		}
		return unix.Setrlimit(resource, &unix.Rlimit{Cur: uint64(value), Max: uint64(value)})
	}
	return errors.Join(unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}), set(unix.RLIMIT_DATA, limits.MemoryBytes),
		set(unix.RLIMIT_NPROC, int64(limits.Processes)), set(unix.RLIMIT_CPU, int64(limits.CPUSeconds)))
}

// The locations of control groups: one tree (v2), or one for each controller (v1).
const (
	groups   = "/sys/fs/cgroup"
	groupsV1 = groups + "/pids/cgroup.procs"
)

// canBound explains why the number of processes cannot be limited here; nil if it can.
func canBound() error {
	release, err := makeGroup(nil, tools.Limits{Processes: 1})
	if err != nil {
		return fmt.Errorf("the number of processes of root cannot be bounded here; run the server as another user: %w", err)
	}
	release()
	return nil
}

// group puts a process and its descendants into a control group with the limits. It is for root; bound limits other
// users.
func group(pid int, limits tools.Limits) (release func(), err error) {
	var members []int
	// The processes wait for their job and start no others. But some may have been starting when the scan began.
	for {
		found := family(pid)
		if len(found) == len(members) {
			return makeGroup(found, limits)
		}
		members = found
	}
}

func makeGroup(members []int, limits tools.Limits) (release func(), err error) {
	if os.Geteuid() != 0 || limits.Processes <= 0 {
		return func() {}, nil
	}
	name := "harness-tool-" + uuid.NewString()
	settings := map[string]string{filepath.Join(groups, name, "pids.max"): strconv.Itoa(limits.Processes)}
	memory := filepath.Join(groups, name, "memory.max")
	if _, err := os.Stat(groupsV1); err == nil {
		settings = map[string]string{filepath.Join(groups, "pids", name, "pids.max"): strconv.Itoa(limits.Processes)}
		memory = filepath.Join(groups, "memory", name, "memory.limit_in_bytes")
	}
	if limits.MemoryBytes > 0 {
		settings[memory] = strconv.FormatInt(limits.MemoryBytes, 10)
	}
	release = func() {
		for file := range settings {
			removeGroup(filepath.Dir(file))
		}
	}
	for file, value := range settings {
		dir := filepath.Dir(file)
		err := os.Mkdir(dir, 0o755)
		if errors.Is(err, os.ErrExist) {
			err = nil
		}
		if err == nil {
			err = os.WriteFile(file, []byte(value), 0)
		}
		for _, pid := range members {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0))
		}
		if err != nil {
			release()
			return nil, err
		}
	}
	return release, nil
}

// removeGroup removes a group once its processes, which are being killed, have ended.
func removeGroup(dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), endWait)
	defer cancel()
	for os.Remove(dir) != nil {
		if _, err := os.Stat(dir); err != nil {
			return
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return // an empty group costs nothing
		}
	}
}

// family returns a process and its descendants.
func family(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		if err != nil {
			continue // the pattern is valid
		}
		for _, task := range tasks {
			text, err := os.ReadFile(task)
			if err != nil {
				continue // the process has ended
			}
			for field := range strings.FieldsSeq(string(text)) {
				if child, err := strconv.Atoi(field); err == nil {
					all = append(all, child)
				}
			}
		}
	}
	return all
}
