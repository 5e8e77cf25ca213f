package callers_test

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"harness/runtime/process"
	"harness/runtime/process/callers"
)

// patience bounds every wait.
const patience = 30 * time.Second

// listener accepts one connection and tells when.
func listener(t *testing.T, address string) (*net.TCPListener, func() (net.Conn, time.Time)) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.(*net.TCPListener), func() (net.Conn, time.Time) {
		if err := l.(*net.TCPListener).SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn, time.Now()
	}
}

func ends(conn net.Conn) (local, remote netip.AddrPort) {
	return conn.LocalAddr().(*net.TCPAddr).AddrPort(), conn.RemoteAddr().(*net.TCPAddr).AddrPort()
}

// runtime starts a shell that stands for a runtime, ended with the test.
func runtime(t *testing.T, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("bash", "-c", script+"\nwait")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func TestACallerIsFoundByItsProcess(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "0.0.0.0:0"} {
		l, accept := listener(t, address)
		port := l.Addr().(*net.TCPAddr).Port
		host := "127.0.0.1"
		if address == "[::1]:0" {
			host = "::1"
		}
		open := fmt.Sprintf("exec 3<>/dev/tcp/%s/%d", host, port)
		for name, script := range map[string]string{
			"the runtime itself": open + "; read <&3",
			"a command":          "bash -c '" + open + "; read <&3' &",
			"a command without environment in a session of its own": "env -i setsid bash -c '" + open + "; read <&3' &",
			"a command in namespaces of its own":                    "unshare -U -p -f bash -c '" + open + "; read <&3' &",
			"a child that was left the connection":                  "bash -c '" + open + "; (read <&3) & exec 3<&-; wait' &",
			"who has hung up already":                               "bash -c '" + open + "; echo hello >&3' &",
		} {
			cmd := runtime(t, script)
			conn, accepted := accept()
			if name == "who has hung up already" {
				if _, err := bufio.NewReader(conn).ReadString(0); err == nil {
					t.Fatal("it is still there")
				}
			}
			local, remote := ends(conn)
			caller, err := callers.New(func() []int { return []int{cmd.Process.Pid} }).Find(t.Context(), local, remote, accepted)
			if err != nil || !caller.Inside {
				t.Errorf("%s, %s: %+v, %v", address, name, caller, err)
			}
			if known := caller.PID != 0; known != (caller.Runtime == cmd.Process.Pid) {
				t.Errorf("%s, %s: %+v, the runtime is %d", address, name, caller, cmd.Process.Pid)
			}
			if itself := name == "the runtime itself"; itself != (caller.PID == cmd.Process.Pid) {
				t.Errorf("%s, %s: %+v of runtime %d", address, name, caller, cmd.Process.Pid)
			}
			_ = conn.Close()
		}
		other := runtime(t, "sleep 3600")
		client, err := net.Dial("tcp", net.JoinHostPort(host, fmt.Sprint(port)))
		if err != nil {
			t.Fatal(err)
		}
		conn, accepted := accept()
		local, remote := ends(conn)
		for what, pids := range map[string][]int{"a runtime that does not call": {other.Process.Pid}, "no runtime": nil} {
			if caller, err := callers.New(func() []int { return pids }).Find(t.Context(), local, remote, accepted); err != nil ||
				caller.Inside {
				t.Errorf("%s, %s: %+v, %v", address, what, caller, err)
			}
		}
		_ = client.Close()
	}
}

// A process that forks and ends again and again holds the connection all the time and is found whenever one looks.
func TestACallerCannotRunAway(t *testing.T) {
	if err := process.KeepDescendants(); err != nil {
		t.Fatal(err)
	}
	l, accept := listener(t, "127.0.0.1:0")
	port := l.Addr().(*net.TCPAddr).Port
	// Each passes the connection to its child and ends at once.
	cmd := runtime(t, fmt.Sprintf(`exec 3<>/dev/tcp/127.0.0.1/%d
		run() { if [ $1 -gt 0 ]; then (run $(($1 - 1))) & else read <&3; fi; }
		(run 300) & exec 3<&-; while :; do wait; read -t 1 < <(:); done`, port))
	// Orphans stay below what stands for the runtime, as they stay below a shim.
	conn, _ := accept()
	local, remote := ends(conn)
	finder := callers.New(func() []int { return []int{os.Getpid(), cmd.Process.Pid} })
	for range 20 {
		if caller, err := finder.Find(t.Context(), local, remote, time.Now()); err != nil || !caller.Inside {
			t.Fatalf("%+v, %v", caller, err)
		}
	}
}

// Many that connect at once share looks at the machine's processes.
func TestManyCallersShareALook(t *testing.T) {
	l, accept := listener(t, "127.0.0.1:0")
	var mu sync.Mutex
	looks := 0
	finder := callers.New(func() []int {
		mu.Lock()
		defer mu.Unlock()
		looks++
		return nil
	})
	const many = 64
	var conns []net.Conn
	for range many {
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		conn, _ := accept()
		conns = append(conns, conn)
	}
	accepted := time.Now()
	var group sync.WaitGroup
	for _, conn := range conns {
		group.Go(func() {
			local, remote := ends(conn)
			if caller, err := finder.Find(t.Context(), local, remote, accepted); err != nil || caller.Inside {
				t.Errorf("%+v, %v", caller, err)
			}
		})
	}
	group.Wait()
	if looks != 1 {
		t.Errorf("%d callers took %d looks", many, looks)
	}
}
