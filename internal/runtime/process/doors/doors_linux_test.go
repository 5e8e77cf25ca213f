package doors

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// serverArgument makes the test binary a server that registers a port: a folder and the port follow.
const serverArgument = "doors-server"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == serverArgument {
		port, err := strconv.ParseUint(os.Args[3], 10, 16)
		var release func() error
		if err == nil {
			release, _, err = Register(os.Args[2], []string{os.Args[2]}, uint16(port))
		}
		if err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		_, _ = os.Stdout.WriteString("registered\n")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
		_ = release()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func newFolder(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "doors")
}

// server starts another process that registers a port, and returns after the registration.
func server(t *testing.T, folder string, port int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", serverArgument, folder, strconv.Itoa(port))
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd
}

func register(t *testing.T, folder string, ports ...uint16) (func() error, []Other) {
	t.Helper()
	release, others, err := Register(folder, []string{folder}, ports...)
	if err != nil {
		t.Fatal(err)
	}
	return release, others
}

func read(t *testing.T, pattern string) []uint16 {
	t.Helper()
	ports, err := Read(pattern)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ports)
	return ports
}

func TestPortsAreRegisteredUntilTheyAreReleased(t *testing.T) {
	t.Parallel()
	folder := newFolder(t)
	if got := read(t, folder); len(got) != 0 {
		t.Errorf("a folder that is not there has %v", got)
	}
	release, others := register(t, folder, 8080, 0, 65535)
	if got := read(t, folder); !slices.Equal(got, []uint16{0, 8080, 65535}) || len(others) != 0 {
		t.Errorf("registered: %v, others %v", got, others)
	}
	// Another server may have the same port at another address.
	second, others := register(t, folder, 8080)
	if len(others) != 3 || others[0].PID != os.Getpid() {
		t.Errorf("others: %v", others)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, folder); !slices.Equal(got, []uint16{8080}) {
		t.Errorf("after one is released: %v", got)
	}
	if err := second(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestKilledServerIsUnregistered(t *testing.T) {
	t.Parallel()
	folder := newFolder(t)
	other := server(t, folder, 8080)
	release, others := register(t, folder, 9090)
	if !slices.Equal(others, []Other{{8080, other.Process.Pid}}) {
		t.Errorf("others: %v", others)
	}
	if got := read(t, folder); !slices.Equal(got, []uint16{8080, 9090}) {
		t.Errorf("both: %v", got)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait()
	if got := read(t, folder); !slices.Equal(got, []uint16{9090}) {
		t.Errorf("after the kill: %v", got)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	again, others := register(t, folder, 8080)
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 || len(others) != 0 {
		t.Errorf("left: %v, %v, others %v", left, err, others)
	}
	if err := again(); err != nil {
		t.Fatal(err)
	}
}

// A process that can only read an entry cannot make it appear live, or prevent its server from registering.
func TestAReadersLockCountsForNothing(t *testing.T) {
	t.Parallel()
	folder := newFolder(t)
	other := server(t, folder, 8080)
	names, err := filepath.Glob(filepath.Join(folder, "8080-*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}
	reader, err := os.Open(names[0])
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait()
	if err := unix.FcntlFlock(reader.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); !errors.Is(err, unix.EBADF) {
		t.Errorf("a lock for writing: %v", err)
	}
	err = errors.Join(unix.FcntlFlock(reader.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK}),
		unix.Flock(int(reader.Fd()), unix.LOCK_EX|unix.LOCK_NB))
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, folder); len(got) != 0 {
		t.Errorf("read: %v", got)
	}
	release, others := register(t, folder, 8080)
	if got := read(t, folder); !slices.Equal(got, []uint16{8080}) || len(others) != 0 {
		t.Errorf("registered: %v, others %v", got, others)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
}

func TestOtherFilesAreSkipped(t *testing.T) {
	t.Parallel()
	folder := newFolder(t)
	release, _ := register(t, folder, 8080)
	held, err := os.Create(filepath.Join(folder, "named"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := lock(held); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(folder, "65536-x"), nil, 0o600), os.Mkdir(filepath.Join(folder, "1-x"), 0o700),
		os.Symlink(held.Name(), filepath.Join(folder, "2-x")), syscall.Mkfifo(filepath.Join(folder, "3-x"), 0o600),
		os.Symlink(folder, folder+"-link")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, folder); !slices.Equal(got, []uint16{8080}) {
		t.Errorf("read: %v", got)
	}
	if got := read(t, filepath.Join(filepath.Dir(folder), "d*rs")); !slices.Equal(got, []uint16{8080}) {
		t.Errorf("by a pattern: %v", got)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
}

func TestAFolderThatOthersCanWriteToIsRefused(t *testing.T) {
	t.Parallel()
	folder := newFolder(t)
	link := folder + "-link"
	if err := errors.Join(os.Mkdir(folder, 0o700), os.Chmod(folder, 0o777), os.Symlink(t.TempDir(), link)); err != nil { //nolint:gosec // on purpose
		t.Fatal(err)
	}
	for _, refused := range []string{folder, link} {
		if _, _, err := Register(refused, nil, 8080); err == nil || !strings.Contains(err.Error(), "XDG_RUNTIME_DIR") {
			t.Errorf("%s: %v", refused, err)
		}
	}
	if _, _, err := Register(filepath.Join(folder, "missing", "doors"), nil, 8080); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("below a folder that is not there: %v", err)
	}
}

func TestFoldersOfServers(t *testing.T) {
	t.Parallel()
	lookup := func(runtime string) func(string) string {
		return func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": runtime}[name] }
	}
	if own, all := Folders(lookup("/run/user/7")); own != "/run/user/7/harness" || !slices.Contains(all, own) ||
		!slices.Contains(all, rootFolder) {
		t.Errorf("with XDG_RUNTIME_DIR: %s, %v", own, all)
	}
	want := rootFolder
	if os.Geteuid() != 0 {
		want = filepath.Join(os.TempDir(), "harness-"+strconv.Itoa(os.Geteuid()))
	}
	for _, runtime := range []string{"", "relative"} {
		if own, all := Folders(lookup(runtime)); own != want || !slices.Contains(all, rootFolder) {
			t.Errorf("XDG_RUNTIME_DIR=%q: %s, %v", runtime, own, all)
		}
	}
}
