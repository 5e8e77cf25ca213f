package transcripts

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// longLineCodex is a codex that sends a line of LONG_BYTES for each request of its account's limits: the file
// LONG_LINES/head, a text, and the file tail.
const longLineCodex = `#!/bin/sh
while IFS= read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case "$line" in
	*'"initialize"'*) echo '{"id":'$id',"result":{"userAgent":"harness/0.999.0 (fake)"}}' ;;
	*'"account/rateLimits/read"'*)
		cat "$LONG_LINES/head"
		[ -e "$LONG_LINES/short" ] || yes 'said \"\\n\"\n' | tr -d '\n' | head -c "$((LONG_BYTES / 14 * 14))"
		cat "$LONG_LINES/tail"
		echo '{"id":'$id',"result":{"rateLimits":{}}}' ;;
	*'"id"'*) echo '{"id":'$id',"result":{"data":[],"nextCursor":null}}' ;;
	esac
done
`

// peakKiB returns the peak resident memory of a process since forgetPeak.
func peakKiB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib
}

// forgetPeak resets a process's peak to its current resident memory.
func forgetPeak(t *testing.T, pid int) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

// longLineCost is the maximum memory of a line until it is stored, as a multiple of its size. Reading it costs one
// copy (internal/runtime/codex), storing it almost none (database: parts).
//
// The collector may not have freed the previous line by then (longLineLeft).
const (
	longLineCost = 2
	longLineLeft = 1.25
)

// longLine is a line with a long text: the parts before and after the text.
type longLine struct{ head, tail string }

// longLines returns lines with long texts of every stored kind. internal/runtime/codex reads all others the same way.
func longLines(session string) map[string]longLine {
	about := `"threadId":"` + session + `","turnId":"t"`
	item := func(id, what string) string {
		return `{"method":"item/completed","params":{` + about + `,"item":{"id":"` + id + `",` + what
	}
	asks := func(id, method, what string) string {
		return `{"id":"` + id + `","method":"` + method + `","params":{` + about + `,"itemId":"i",` + what
	}
	return map[string]longLine{
		"answer":   {item("a", `"type":"agentMessage","text":"`), `"}}}`},
		"approval": {asks("1", "item/commandExecution/requestApproval", `"cwd":"/","command":"`), `"}}`},
		"message":  {item("m", `"type":"userMessage","content":[{"type":"text","text":"`), `"}]}}}`},
		"output": {item("o", `"type":"commandExecution","command":"yes","status":"completed","aggregatedOutput":"`),
			`"}}}`},
		"unknown": {`{"method":"huge/line","params":{"text":"`, `"}}`},
	}
}

// longLineSays is a server whose codex sends long lines of this many MiB.
type longLineSays struct {
	*programtest.Server
	folder string
	mib    int
}

func sayLongLines(s *programtest.Site, mib int) *longLineSays {
	s.T.Helper()
	says := &longLineSays{folder: s.T.TempDir(), mib: mib}
	script := filepath.Join(says.folder, "codex")
	if err := os.WriteFile(script, []byte(longLineCodex), 0o755); err != nil { //nolint:gosec // a program
		s.T.Fatal(err)
	}
	says.Server = s.Start("CODEX_BIN="+script, "LONG_LINES="+says.folder, "LONG_BYTES="+strconv.Itoa(mib<<20))
	says.WaitRuntime()
	return says
}

// say makes the codex send a line, and waits until it is stored.
func (l *longLineSays) say(line longLine) {
	l.T.Helper()
	for name, text := range map[string]string{"head": line.head, "tail": line.tail + "\n"} {
		if err := os.WriteFile(filepath.Join(l.folder, name), []byte(text), 0o600); err != nil {
			l.T.Fatal(err)
		}
	}
	events := l.Metric("harness_journal_events_total")
	l.Want(http.StatusOK, http.MethodGet, "/api/account/rate-limits", nil)
	l.Eventually("the line is stored", func() bool { return l.Metric("harness_journal_events_total") > events })
}

// The server reads and stores a line of 64 MiB at a bounded cost, on either engine, whatever its kind, also after
// others.
func TestALongLineIsStoredAtABoundedCost(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			s, mib, bound := programtest.New(t, programtest.WithEngine(engine)), 64, float64(longLineCost)
			if s.Detecting {
				// Under the detector every byte is slower, and its bookkeeping is resident too.
				mib, bound = 24, 3*longLineCost
			}
			server := sayLongLines(s, mib)
			pid := server.Cmd.Process.Pid
			forgetPeak(t, pid)
			before := peakKiB(t, pid)
			lines := longLines(uuid.NewString())
			for i, kind := range slices.Sorted(maps.Keys(lines)) {
				if i == 1 {
					bound += longLineLeft
				}
				forgetPeak(t, pid)
				server.say(lines[kind])
				cost := peakKiB(t, pid) - before
				t.Logf("%s: a line of %d MiB costs %d MiB", kind, mib, cost>>10)
				if float64(cost) > bound*float64(mib<<10) {
					t.Errorf("%s: a line of %d MiB costs %d MiB, more than %g times its size", kind, mib, cost>>10, bound)
				}
			}
		})
	}
}

// A long request reaches its approver complete, by the stream and by REST, at a bounded cost. An extension without
// memory for it gets a visible error, and continues with the next event.
//
//nolint:paralleltest // a reader that has little of the processor is slow, and such ones lose their stream
func TestALongRequestIsShownWhole(t *testing.T) {
	s, mib := programtest.New(t), 40
	if programtest.UnderRace {
		mib = 30 // the reader below takes several times longer for each byte
	}
	s.Extension("narrow", map[string]string{
		"extension.json": `{"name":"@t/narrow","version":"1.0.0","agentId":"narrow","displayName":"Narrow","runtime":{"coreApiVersion":1,` +
			`"profiles":[{"name":"codex-manager","versionRange":">=1 <2"}]},"entrypoints":{"events":"./events.js"},` +
			`"capabilities":{"events":["app_server.request.item.command_execution.request_approval"]}}`,
		"events.js": `export function registerAgentEvents(registry) {
			registry.on("app_server.request.item.command_execution.request_approval", (event, tools) => { tools.logger.info({}, "asked for " + event.payload.params.command.length) });
		}`,
	})
	server := sayLongLines(s, mib)
	session := uuid.NewString()
	line := longLines(session)["approval"]
	frames := server.Follow("threadId=" + session)
	pid := server.Cmd.Process.Pid
	forgetPeak(t, pid)
	before := peakKiB(t, pid)
	server.say(line)
	frame := frames.WaitType("approval")
	// This covers all readers together: three frames are about a request, and the extension's machine has 64 MiB.
	if cost := peakKiB(t, pid) - before; cost > 24*mib<<10 && !s.Detecting {
		t.Errorf("to show a request of %d MiB costs %d MiB", mib, cost>>10)
	}
	shown := frame.Decoded()
	command := programtest.Text(shown, "details", "command")
	if want := mib << 20 / 14 * 14; len(command) < want/14*8 || !strings.HasPrefix(command, "said") {
		t.Errorf("the frame's command has %d bytes of %d", len(command), want)
	}
	if summary := programtest.Text(shown, "summary"); len(summary) > 70<<10 || !strings.Contains(summary, "cut here") {
		t.Errorf("the summary has %d bytes", len(summary))
	}
	forgetPeak(t, pid)
	before = peakKiB(t, pid)
	listed := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)
	if cost := peakKiB(t, pid) - before; cost > 6*mib<<10 && !s.Detecting {
		t.Errorf("to read a request of %d MiB costs %d MiB", mib, cost>>10)
	}
	data, _ := listed["data"].([]any)
	if len(data) != 1 || programtest.Text(data[0], "details", "command") != command ||
		programtest.Text(data[0], "approvalId") != programtest.Text(shown, "approvalId") {
		t.Errorf("REST shows %d requests, or another one than the frame", len(data))
	}
	server.Eventually("the extension has failed visibly", func() bool {
		return strings.Contains(server.Log(), "ran out of memory")
	})
	server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+programtest.Text(data[0], "approvalId")+"/decision",
		programtest.Object{"decision": "accept"})
	frames.WaitType("approval_resolved")
	line.head = strings.Replace(line.head, `"id":"1"`, `"id":"2"`, 1)
	if err := os.WriteFile(filepath.Join(server.folder, "short"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	server.say(line)
	server.Eventually("the extension gets the next one", func() bool {
		return strings.Contains(server.Log(), "asked for 0")
	})
}

// MC-44: a text of 100 MiB is read over MCP in bounded answers, from its beginning to its end, at a bounded cost.
func TestAHugeTextOverTheControl(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			s, mib := programtest.New(t, programtest.WithEngine(engine)), 100
			if s.Detecting {
				mib = 24
			}
			real := s.Start("HARNESS_DETACH_GRACE_MS=0")
			real.WaitRuntime()
			session := real.CreateSession(nil)
			real.Stop()
			server := sayLongLines(s, mib)
			server.say(longLines(session)["answer"])
			client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).
				Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: server.URL + "/mcp/control"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = client.Close() }()
			read := func(in programtest.Object) programtest.Object {
				t.Helper()
				in["session"] = session
				got, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "read_transcript", Arguments: in})
				if err != nil || got.IsError {
					t.Fatalf("%v: %+v, %v", in, got, err)
				}
				answer, _ := got.StructuredContent.(map[string]any)
				return answer
			}
			forgetPeak(t, server.Cmd.Process.Pid)
			before := peakKiB(t, server.Cmd.Process.Pid)
			entries, _ := read(programtest.Object{"limit": 50})["entries"].([]any)
			one, _ := entries[len(entries)-1].(map[string]any)
			const line = "said \"\\n\"\n" // 14 bytes of JSON
			end := int64(mib<<20/14) * int64(len(line))
			for offset := int64(0); ; {
				text, next := programtest.Text(one, "text"), int64(0)
				if value, is := one["next_offset"].(float64); is {
					next = int64(value)
				}
				at := int(offset % int64(len(line)))
				if want := strings.Repeat(line, 900)[at : at+len(text)]; text != want || len(text) > 8000 ||
					next != 0 && next != offset+int64(len(text)) || next == 0 && offset+int64(len(text)) != end {
					t.Fatalf("at %d of %d: %d bytes, then %d: %.100q", offset, end, len(text), next, text)
				}
				if offset = next; offset == 0 {
					break
				}
				if offset > 16_000 && offset < end-20_000 { // the middle, then the end
					offset = end - 20_000 + offset%3
				}
				id := programtest.Text(entries[len(entries)-1], "id")
				one = read(programtest.Object{"entry": id, "offset": offset})
			}
			if cost := peakKiB(t, server.Cmd.Process.Pid) - before; cost > mib<<10*3/4 && !s.Detecting {
				t.Errorf("a text of %d MiB costs %d MiB to read", mib, cost>>10)
			}
			server.Stop()
		})
	}
}
