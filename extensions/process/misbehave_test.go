package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions"
	"harness/extensions/process"
	runtimeprocess "harness/internal/runtime/process"
	"harness/tests/extensionstest"
)

const ready = `echo '{"type":"ready","protocol":1,"subscriptions":[{"eventType":"e"}]}'` + "\n"

// serveFine answers every invocation with "fine" and confirms every end message.
const serveFine = `while read -r line; do
	id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
	case "$line" in
	*'"type":"invoke"'*) echo "{\"type\":\"result\",\"id\":$id,\"value\":\"fine\"}" ;;
	*'"type":"end"'*) echo "{\"type\":\"ended\",\"id\":$id}" ;;
	esac
done
`

func TestCommandExtension(t *testing.T) {
	t.Parallel()
	site := newSite(t, nil)
	module := extensionstest.Load(t, site, shellSource(t, "read -r load\necho problem >&2\n"+ready+serveFine))
	if got := module.Subscriptions(); len(got) != 1 || got[0].EventType != "e" || got[0].HasPriority {
		t.Errorf("%+v", got)
	}
	for range 3 {
		extensionstest.Answers(t, module, 0)
	}
	if _, err := extensionstest.Handle(t, module, 1, &extensionstest.Tools{}); err == nil {
		t.Error("there is no second handler")
	}
}

// A child that does not get ready fails the load, and nothing of it remains.
func TestBadHandshakes(t *testing.T) {
	t.Parallel()
	site := newSite(t, func(o *process.Options) {
		o.Limits.LoadTimeout = slowness * time.Second // most children send their message immediately; it must arrive before this timeout
		o.Limits.MaxLine = 1 << 16
		o.Limits.StopGrace = 100 * time.Millisecond
	})
	for name, c := range map[string]struct{ script, message string }{
		"silence":         {`exec sleep 3600`, "in time"},
		"ignores SIGTERM": {`trap '' TERM; while :; do sleep 1; done`, "in time"},
		"ends":            {`echo "no such thing" >&2; exit 4`, "code 4: no such thing"},
		"no JSON":         {`echo hello; exec sleep 3600`, "not a message"},
		"unknown message": {`echo '{"type":"hello"}'; exec sleep 3600`, "unknown type"},
		"other protocol":  {`echo '{"type":"ready","protocol":2}'; exec sleep 3600`, "protocol 2"},
		"empty event":     {`echo '{"type":"ready","protocol":1,"subscriptions":[{}]}'; exec sleep 3600`, "eventType"},
		"half a line":     {`printf '{"type":"ready","protocol":1'; exit 0`, "code 0"},
		"endless line":    {`exec cat /dev/zero`, "longer than"},
		"endless lines":   {`exec yes '{"type":"log","message":"x"}'`, "unsolicited"},
		"says it failed": {`echo '{"type":"failed","code":"registration_failed","message":"reg boom"}'; exec sleep 3600`,
			"reg boom"},
		"closes its output": {`exec >&-; exec sleep 3600`, "ended by SIGTERM"},
		"leaves a process":  {`setsid sleep 3600 & exit 5`, "code 5"},
		"calls before ready": {
			`i=0; while [ $i -lt 5000 ]; do echo '{"type":"tool","id":1,"call":1,"name":"enqueueJob","args":[1]}'; ` +
				`i=$((i+1)); done; exec sleep 3600`,
			"unsolicited"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			module, err := site.Load(t.Context(), shellSource(t, c.script))
			if err == nil {
				extensionstest.Close(t, module)
				t.Fatal("it was loaded")
			}
			var load *extensions.LoadError
			if !errors.As(err, &load) || !strings.Contains(load.Message, c.message) {
				t.Errorf("error is %v", err)
			}
		})
	}
	t.Cleanup(func() {
		if left := site.marks(t); len(left) > 0 {
			t.Errorf("folders stay: %v", left)
		}
	})
}

// A child misbehaves after it got ready: the caller gets an error in time, the child is replaced, the next event is
// answered, and nothing of the old child remains.
func TestMisbehavingChildren(t *testing.T) {
	t.Parallel()
	for name, misdeed := range map[string]string{
		"hangs":                    `exec sleep 3600`,
		"does not read":            `while :; do sleep 1; done`,
		"ignores SIGTERM":          `trap '' TERM INT HUP; while :; do sleep 1; done`,
		"burns":                    `while :; do :; done`,
		"ends":                     `exit 3`,
		"kills itself":             `kill -9 $$`,
		"half a line":              `printf '{"type":"res'; exit 0`,
		"half a line and a hang":   `printf '{"type":"res'; exec sleep 3600`,
		"no JSON":                  `echo garbage; exec sleep 3600`,
		"floods with zeros":        `exec cat /dev/zero`,
		"floods with lines":        `exec yes '{"type":"result","id":99}'`,
		"floods with logs":         `exec yes '{"type":"log","id":1,"message":"more"}'`,
		"floods stderr":            `yes more >&2 & exec sleep 3600`,
		"says ready again":         ready + `exec sleep 3600`,
		"forks and ends":           `sleep 3600 & sleep 3600 & exit 0`,
		"forks into a new session": `setsid sh -c 'trap "" TERM; while :; do sleep 1; done' & exit 0`,
		"forks and hangs":          `(trap '' TERM; while :; do sleep 1; done) & trap '' TERM; while :; do sleep 1; done`,
		"daemon holds the pipes":   `setsid sleep 3600 & setsid sleep 3600 >/dev/null & exec sleep 3600`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := newSite(t, func(o *process.Options) {
				o.Limits.Grace = 150 * time.Millisecond
				o.Limits.StopGrace = 100 * time.Millisecond
				o.Limits.MaxLine = 1 << 20
			})
			// The first child misbehaves at the first event, the second one does not.
			source := shellSource(t, "read -r load\n"+ready+"if [ -e done ]; then\n"+serveFine+
				"exit 0\nfi\nread -r event\n: > done\n"+misdeed+"\n")
			module := extensionstest.Load(t, site, source)
			first := site.marks(t)
			start := time.Now()
			timeout := slowness * 300 * time.Millisecond // the first child must have read the event by then
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			out, err := module.Handle(ctx, 0, extensionstest.Event(`{}`), &extensionstest.Tools{})
			cancel()
			if took := time.Since(start); err == nil || took > timeout+slack {
				t.Errorf("%s, %v after %s", out, err, took)
			}
			extensionstest.Answers(t, module, 0)
			if health := module.Health(); health.Restarts != 1 || health.LastError == "" || health.State != extensions.HealthOK {
				t.Errorf("health is %+v", health)
			}
			nothingLeft(t, first...)
			second := site.marks(t)
			extensionstest.Close(t, module)
			nothingLeft(t, second...)
			if left := site.marks(t); len(left) > 0 {
				t.Errorf("folders stay: %v", left)
			}
		})
	}
}

// A child that makes an impossible request gets an error and continues.
func TestToolCallsOfAChild(t *testing.T) {
	t.Parallel()
	calls := `read -r event
for call in '"id":1,"call":1,"name":"enqueueJob","args":[{"a":1}]' '"id":1,"call":2,"name":"enqueueJob","args":[]' '"id":1,"call":3,"name":"rm","args":["/"]' '"id":7,"call":4,"name":"enqueueJob","args":[{}]' '"id":1,"call":5,"name":"getSessionSetting","args":[null,3]'; do
	echo "{\"type\":\"tool\",$call}"
	read -r answer
	echo "$answer" >> answers
done
echo '{"type":"result","id":1,"value":"fine"}'
`
	source := shellSource(t, "read -r load\n"+ready+calls+serveFine)
	with := &extensionstest.Tools{Settings: true}
	module := extensionstest.Load(t, newSite(t, nil), source)
	if got, err := extensionstest.Handle(t, module, 0, with); err != nil || got != `"fine"` {
		t.Fatal(got, err)
	}
	content, err := os.ReadFile(filepath.Join(source.Root, "answers"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`"call":1,"value":{"status":"enqueued"`, `"call":2,"error":"enqueueJob needs`,
		`"call":3,"error":"there is no tool rm"`, `"call":4,"error":"` + extensions.LateCall,
		`"call":5,"error":"getSessionSetting needs strings`}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%q", lines)
	}
	for i, line := range lines {
		if !strings.Contains(line, want[i]) {
			t.Errorf("%s, want %s", line, want[i])
		}
	}
	if n := len(with.Enqueued()); n != 1 {
		t.Errorf("%d calls reached the tools", n)
	}
}

// The limits apply to the child and to the processes that it starts.
func TestResourceLimitsAndEnvironment(t *testing.T) {
	t.Setenv("HARNESS_TEST_SECRET", "secret")
	t.Setenv("HARNESS_TEST_PASSED", "passed")
	source := shellSource(t, "read -r load\n"+ready+`read -r event
limits="$(ulimit -d) $(ulimit -n) $(ulimit -t) ${HARNESS_TEST_SECRET:-none} ${HARNESS_TEST_PASSED:-none} $HARNESS_EXTENSION_NAME"
echo "{\"type\":\"result\",\"id\":1,\"value\":\"$limits\"}"
`+serveFine)
	module := extensionstest.Load(t, newSite(t, func(o *process.Options) {
		o.Limits = process.Limits{Memory: 512 << 20, OpenFiles: 100, CPU: 77 * time.Second}
		o.PassEnv = []string{"HARNESS_TEST_PASSED"}
	}), source)
	if got, err := extensionstest.Handle(t, module, 0, &extensionstest.Tools{}); err != nil ||
		got != `"524288 100 77 none passed @test/probe"` {
		t.Error(got, err)
	}
}

func TestMissingPrograms(t *testing.T) {
	t.Parallel()
	site := newSite(t, func(o *process.Options) { o.Node = "no-such-node" })
	node := nodeSource(t, extensionstest.Handlers(`() => 1`))
	nothing, missing, file := shellSource(t, ""), shellSource(t, ""), shellSource(t, "")
	nothing.Runtime.Command = nil
	missing.Runtime.Command = []string{"no-such-program"}
	file.Runtime.Command = []string{"./no-such-file"}
	for _, source := range []extensions.Source{node, nothing, missing, file} {
		module, err := site.Load(t.Context(), source)
		if err == nil {
			extensionstest.Close(t, module)
		}
		var load *extensions.LoadError
		if !errors.As(err, &load) || load.Code != extensions.ImportFailed {
			t.Errorf("%+v: %v", source.Runtime, err)
		}
	}
}

// serverVariable makes the test binary act as a server that owns an extension's process; the test kills that server.
const serverVariable = "HARNESS_TEST_EXTENSION_SERVER"

// TestServerProcess is not a test: it is the server of TestKilledServerLeavesNothing.
func TestServerProcess(t *testing.T) {
	dir := os.Getenv(serverVariable)
	if dir == "" {
		return
	}
	host, err := process.New(t.Context(), process.Options{Dir: dir, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	source := extensions.Source{Name: "x", Root: os.Getenv("HARNESS_TEST_ROOT"),
		Runtime: extensions.RuntimeChoice{Host: "process", Command: []string{"sh", "events.sh"}}}
	if _, err = host.Load(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	fmt.Println("loaded")
	select {}
}

// When the server is killed, its child dies with it. The next server removes the process that the child started in
// another session.
func TestKilledServerLeavesNothing(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "children")
	source := shellSource(t, "trap '' TERM\nread -r load\nsetsid sleep 3600 >/dev/null 2>&1 &\n"+ready+
		"while :; do sleep 1; done\n")
	server := exec.Command(self, "-test.run=^TestServerProcess$")
	server.Env = append(os.Environ(), serverVariable+"="+dir, "HARNESS_TEST_ROOT="+source.Root)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "loaded\n" {
		t.Fatalf("%q, %v", line, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	mark := entries[0].Name()
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	// The process that runs "sleep 1" for the child may live until its second is over; only the daemon remains.
	extensionstest.WaitFor(t, "the child's end", func() bool {
		left, err := runtimeprocess.Marked(mark)
		return err == nil && len(left) <= 1
	})
	if _, err := process.New(t.Context(), process.Options{Dir: dir, Logger: zerolog.Nop()}); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, mark)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// A message on the wire never contains a line break, whatever the event contains.
func TestEventsAreOneLine(t *testing.T) {
	t.Parallel()
	module := extensionstest.Load(t, newSite(t, nil), shellSource(t, "read -r load\n"+ready+serveFine))
	ctx, cancel := context.WithTimeout(t.Context(), extensionstest.Patience)
	defer cancel()
	payload, err := json.Marshal(map[string]string{"text": "a\nb\u2028c"})
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{string(payload), "{\n  \"pretty\": 1\n}"} {
		if out, err := module.Handle(ctx, 0, extensionstest.Event(raw), &extensionstest.Tools{}); err != nil ||
			string(out) != `"fine"` {
			t.Errorf("%s: %s, %v", raw, out, err)
		}
	}
}
