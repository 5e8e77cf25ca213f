package callers

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"harness/runtime/process"
)

// look is what was seen of the runtimes' processes.
type look struct {
	began time.Time
	// sockets are those held inside, by number, with what the runtime started.
	sockets map[uint32]int
	// closed are processes whose sockets cannot be seen, with what the runtime started: one of them may hold any socket.
	closed []int
}

// Find tells who holds the other end of a connection that was accepted at the given time. remote and local are as the server sees them. It
// fails closed: a caller of this machine who is gone already, or who hides what it holds, counts as inside. An error says that it cannot be
// found out here.
func (f *Finder) Find(ctx context.Context, local, remote netip.AddrPort, accepted time.Time) (Caller, error) {
	number, known, err := inode(plain(remote), plain(local))
	if err != nil {
		return Caller{}, err
	}
	switch {
	case known && number == 0, !known && remote.Addr().Unmap().IsLoopback():
		return Caller{Inside: true}, nil // closed without waiting for an answer
	case !known:
		return Caller{}, nil // another machine
	}
	seen, err := f.since(ctx, accepted)
	if err != nil {
		return Caller{}, err
	}
	if pid, inside := seen.sockets[number]; inside {
		return Caller{Inside: true, PID: pid}, nil
	}
	if len(seen.closed) > 0 {
		return Caller{Inside: true, PID: seen.closed[0]}, nil
	}
	return Caller{}, nil
}

// plain is an address as the kernel files it: IPv4 in IPv6 is IPv4.
func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// since is a look that began after a moment. Those who wait for one meanwhile share it.
func (f *Finder) since(ctx context.Context, moment time.Time) (*look, error) {
	select {
	case f.looking <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-f.looking }()
	last := <-f.last
	if last == nil || !last.began.After(moment) {
		next, err := lookAt(f.runtimes())
		if err != nil {
			f.last <- last
			return nil, err
		}
		last = next
	}
	f.last <- last
	return last, nil
}

// lookAt lists the sockets of everything below the given processes.
func lookAt(runtimes []int) (*look, error) {
	seen := &look{began: time.Now(), sockets: map[uint32]int{}}
	if len(runtimes) == 0 {
		return seen, nil
	}
	// A process may pass its sockets to a child and end while this looks elsewhere, so it goes on until there is no process it has not seen.
	done := map[int]bool{}
	for range passes {
		fresh, err := seen.pass(runtimes, done)
		if err != nil || fresh == 0 {
			return seen, err
		}
	}
	seen.closed = append(seen.closed, 0)
	return seen, nil
}

// passes are more than an honest tree needs, however busy it is.
const passes = 20

// pass looks at the processes that are not done, and tells how many there were.
func (l *look) pass(runtimes []int, done map[int]bool) (fresh int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, fmt.Errorf("look at processes: %w", err)
	}
	parents := map[int]int{}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			parents[pid] = process.Parent(pid)
		}
	}
	for pid := range parents {
		below, inside := started(pid, parents, runtimes)
		if !inside || done[pid] {
			continue
		}
		fresh++
		done[pid] = true
		if !l.add(pid, below) && !slices.Contains(runtimes, pid) && process.Started(pid) != 0 {
			l.closed = append(l.closed, below)
		}
	}
	return fresh, nil
}

// started is the process right below a runtime from which another descends, itself for the runtime.
func started(pid int, parents map[int]int, runtimes []int) (below int, inside bool) {
	below = pid
	for above := pid; above > 1; above = parents[above] {
		if slices.Contains(runtimes, above) {
			return below, true
		}
		below = above
	}
	return 0, false
}

// add notes the sockets of a process; false when they cannot be seen.
func (l *look) add(pid, below int) bool {
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	open, err := os.ReadDir(folder)
	if err != nil {
		return false
	}
	for _, file := range open {
		target, err := os.Readlink(folder + "/" + file.Name())
		if err != nil {
			continue // closed meanwhile
		}
		text, is := strings.CutPrefix(target, "socket:[")
		if !is {
			continue
		}
		if number, err := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 32); err == nil {
			l.sockets[uint32(number)] = below
		}
	}
	return true
}
