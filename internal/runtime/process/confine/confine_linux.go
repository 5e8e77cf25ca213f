package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Attributes puts the stage into a separate mount namespace. A user without that right needs a user namespace for it.
// In the user namespace the stage may mount, but the program, which gets none of the stage's rights, may not. It also
// cannot reach processes outside, whose /proc/<pid>/root would show all files.
func Attributes(attributes *syscall.SysProcAttr, plan Plan) {
	if plan.viewless() {
		return
	}
	attributes.Cloneflags |= unix.CLONE_NEWNS
	if !plan.UserNamespace {
		return
	}
	attributes.Cloneflags |= unix.CLONE_NEWUSER
	attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	attributes.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
}

// Run is the stage: it makes the view for args (see Command) and becomes the program. It returns only on failure,
// before the program runs. With the program "" it runs none: it checks that hidden folders are empty and reports that
// on stdout (see Try).
func Run(args []string) error {
	plan, command, err := parse(args)
	if err != nil {
		return err
	}
	// The next steps change this thread. The program inherits from the thread that becomes it.
	runtime.LockOSThread()
	// Read now: the stage still sees the folders of doors, and may read them.
	fenced, err := plan.Fence.ports()
	if err != nil {
		return err
	}
	if !plan.viewless() {
		if err := view(plan); err != nil {
			return err
		}
	}
	if err := leave(plan); err != nil {
		return err
	}
	if plan.Fence != nil {
		// Last: it needs no right, and the fence would take the right to change users from the steps after it.
		if err := raise(fenced); err != nil {
			return fmt.Errorf("%w: %w", ErrNoFence, err)
		}
	}
	if command[0] == "" {
		return confirm(plan)
	}
	path, err := exec.LookPath(command[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return err
	}
	if err := unix.Exec(path, command, os.Environ()); err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	return nil
}

// view makes the mounts of a plan.
func view(plan Plan) error {
	// Later mounts from outside appear here; mounts made here do not appear outside.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts from the outside: %w", err)
	}
	for _, path := range plan.Protect {
		if err := protect(path); err != nil {
			return fmt.Errorf("protect %s: %w", path, err)
		}
	}
	kept, err := openAll(plan.Keep)
	if err != nil {
		return err
	}
	defer kept.close()
	folders, err := hide(plan.Hide)
	if err != nil {
		return err
	}
	if err := kept.restore(); err != nil {
		return err
	}
	for _, folder := range folders {
		if err := unix.Mount("", folder, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV,
			""); err != nil {
			return fmt.Errorf("close %s: %w", folder, err)
		}
	}
	return enter()
}

// enter opens the working directory again by its name: the old handle would still show hidden files. It leaves a
// hidden one.
func enter() error {
	dir, err := os.Getwd()
	if err == nil {
		err = os.Chdir(dir)
	}
	if err != nil {
		return os.Chdir("/")
	}
	return nil
}

// hide replaces paths by empty folders and files, and returns the folders: those can still be written.
func hide(paths []string) (folders []string, err error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err == nil && info.IsDir():
			folders = append(folders, path)
			err = unix.Mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=64k,mode=0755")
		case err == nil:
			files = append(files, path)
		}
		if err != nil {
			return nil, fmt.Errorf("hide %s: %w", path, err)
		}
	}
	for _, path := range files {
		if err := hideFile(path, folders); err != nil {
			return nil, fmt.Errorf("hide %s: %w", path, err)
		}
	}
	return folders, nil
}

// hideFile mounts an empty file over a file. It makes that file in a hidden folder. Without such a folder it uses
// /dev/null, which accepts and discards writes.
func hideFile(path string, folders []string) error {
	empty := "/dev/null"
	if len(folders) > 0 {
		empty = filepath.Join(folders[0], ".empty")
		if err := os.WriteFile(empty, nil, 0o444); err != nil { //nolint:gosec // readable like what it stands for may be
			return err
		}
		defer func() { _ = os.Remove(empty) }()
	}
	if err := unix.Mount(empty, path, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return readOnly(path)
}

// protect makes a path read-only for all users in this namespace.
func protect(path string) error {
	err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, "")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return readOnly(path)
}

// readOnly makes a mount read-only. It keeps the other flags: a user namespace may not remove them.
func readOnly(path string) error {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return err
	}
	flags := uintptr(unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY)
	for _, flag := range []struct{ has, set uintptr }{
		{unix.ST_NOSUID, unix.MS_NOSUID}, {unix.ST_NODEV, unix.MS_NODEV}, {unix.ST_NOEXEC, unix.MS_NOEXEC},
		{unix.ST_NOATIME, unix.MS_NOATIME}, {unix.ST_NODIRATIME, unix.MS_NODIRATIME}, {unix.ST_RELATIME, unix.MS_RELATIME},
	} {
		if uintptr(stat.Flags)&flag.has != 0 { //nolint:gosec // flags are positive
			flags |= flag.set
		}
	}
	return unix.Mount("", path, "", flags, "")
}

// leave drops the stage's rights: the program has only those of its user.
func leave(plan Plan) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	if plan.UserNamespace && os.Geteuid() == 0 {
		// A program that runs as root gets all rights of its user namespace. Without this drop it could remove the
		// mounts.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_ADMIN, 0, 0, 0); err != nil {
			return fmt.Errorf("give up the right to mount: %w", err)
		}
	}
	if !plan.User {
		return nil
	}
	// A change of user clears the signal that ends the program with its parent.
	parent := os.Getppid()
	var signal int
	if err := unix.Prctl(unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&signal)), 0, 0, 0); err != nil {
		return fmt.Errorf("read the signal of the parent's death: %w", err)
	}
	groups := make([]int, len(plan.Groups))
	for i, group := range plan.Groups {
		groups[i] = int(group)
	}
	if err := syscall.Setgroups(groups); err != nil {
		return fmt.Errorf("take the groups of the runtime's user: %w", err)
	}
	if err := syscall.Setgid(int(plan.GID)); err != nil {
		return fmt.Errorf("take the group of the runtime's user: %w", err)
	}
	if err := syscall.Setuid(int(plan.UID)); err != nil {
		return fmt.Errorf("become the runtime's user: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(signal), 0, 0, 0); err != nil { //nolint:gosec // a signal's number
		return fmt.Errorf("end with the parent: %w", err)
	}
	if os.Getppid() != parent {
		return errors.New("the parent is gone")
	}
	return nil
}

// handles are open paths to restore to their place.
type handles []handle

type handle struct {
	path   string
	folder bool
	fd     int
}

func openAll(paths []string) (handles, error) {
	var all handles
	for _, path := range slices.Sorted(slices.Values(paths)) {
		info, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		fd := -1
		if err == nil {
			fd, err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		}
		if err != nil {
			all.close()
			return nil, fmt.Errorf("keep %s: %w", path, err)
		}
		all = append(all, handle{path, info.IsDir(), fd})
	}
	return all, nil
}

func (all handles) close() {
	for _, h := range all {
		_ = unix.Close(h.fd)
	}
}

// restore mounts the handles at their original paths.
func (all handles) restore() error {
	for _, h := range all {
		if err := placeholder(h); err != nil {
			return fmt.Errorf("keep %s: %w", h.path, err)
		}
		if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", h.fd), h.path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("keep %s: %w", h.path, err)
		}
	}
	return nil
}
