package callers

import (
	"bytes"
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
	// sockets are those held inside, by number, with who holds them.
	sockets map[uint32]Caller
	// closed tells that there are processes whose sockets cannot be seen: one of them may hold any socket.
	closed bool
}

// Find tells who holds the other end of a connection that was accepted at the given time. remote and local are as the
// server sees them. It fails closed: a caller of this machine who is gone already, or who hides what it holds, counts
// as inside. An error says that it cannot be found out here.
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
	if caller, inside := seen.sockets[number]; inside {
		return caller, nil
	}
	if seen.closed {
		return Caller{Inside: true}, nil
	}
	// Who has hung up since was not to be seen.
	if again, known, err := inode(plain(remote), plain(local)); err != nil || !known || again != number {
		return Caller{Inside: true}, err
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
	seen := &look{began: time.Now(), sockets: map[uint32]Caller{}}
	if len(runtimes) == 0 {
		return seen, nil
	}
	// A process may pass its sockets to a child and end while this looks elsewhere, and one that starts or ends cannot be
	// looked into for a moment. So it goes on until there is no process left to look into.
	done := map[int]bool{}
	for range passes {
		left, err := seen.pass(runtimes, done)
		if err != nil || !left {
			return seen, err
		}
		<-time.After(passPause)
	}
	seen.closed = true
	return seen, nil
}

// passes are more than an honest tree needs, however busy it is.
const (
	passes    = 100
	passPause = time.Millisecond
)

// pass looks into the processes that are not done, and tells whether another pass is needed: there were some.
func (l *look) pass(runtimes []int, done map[int]bool) (left bool, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false, fmt.Errorf("look at processes: %w", err)
	}
	parents := map[int]int{}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			parents[pid] = process.Parent(pid)
		}
	}
	for pid := range parents {
		caller, broken := started(pid, parents, runtimes)
		left = left || broken && !done[pid]
		if !caller.Inside || done[pid] {
			continue
		}
		left = true
		// The runtime itself may hide what it holds; it is trusted not to call for what it runs.
		done[pid] = l.add(pid, caller) || slices.Contains(runtimes, pid) || holdsNothing(pid)
	}
	return left, nil
}

// started tells from which process right below a runtime another descends, itself for the runtime. broken tells that it,
// or a process between them, ended while this looked: what it left behind has another parent by now, or was not listed.
func started(pid int, parents map[int]int, runtimes []int) (caller Caller, broken bool) {
	below := pid
	for above := pid; above > 1; above = parents[above] {
		if slices.Contains(runtimes, above) {
			return Caller{Inside: true, PID: below, Runtime: above}, false
		}
		if parents[above] == 0 && process.Started(above) == 0 {
			return Caller{}, true
		}
		below = above
	}
	return Caller{}, false
}

// add notes the sockets of a process; false when they cannot be seen.
func (l *look) add(pid int, caller Caller) bool {
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
			l.sockets[uint32(number)] = caller
		}
	}
	return true
}

// holdsNothing tells of a process that cannot be looked into whether it is gone, or ends and has let go of its files.
func holdsNothing(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err != nil || process.Started(pid) == 0 || bytes.Contains(status, []byte("\nFDSize:\t0\n"))
}
