package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// recordedFrame is a client's message to cdev (frame or raw), or cdev's response: its error's code or its result's
// members.
type recordedFrame struct {
	Recording, Conn string
	Frame           programtest.Object
	Raw             string
	Answers         json.RawMessage
	Code            int
	Members         []string
	Made            string
}

func recorded[T any](t *testing.T, name string) (all []T) {
	t.Helper()
	raw, err := os.ReadFile("testdata/cdev/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var one T
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// cdevSite starts a server with codex and Claude Code, a workspace and a session of each in it.
func cdevSite(t *testing.T) (server *programtest.Server, socket *rpcSocket, space string, sessions map[string]string) {
	t.Helper()
	s := programtest.WithClaude(t)
	s.Env = append(s.Env, "DEFAULT_APPROVAL_POLICY=untrusted", "DEFAULT_NETWORK_ACCESS=enabled",
		"HARNESS_DEFAULT_RUNTIME=claude")
	server = s.Start()
	server.AwaitRuntime()
	socket = dialRPC(server, t, "/ws", nil)
	socket.call("initialize", nil)
	space = socket.workspaceFor(s.Workspace)
	sessions = map[string]string{}
	for _, agent := range []string{"codex", "claude"} {
		sessions[agent] = socket.startNew(space, agent)
		socket.call("workspace/session/watch", programtest.Object{"workspace_id": space, "session_id": sessions[agent],
			"agent_type": agent})
		socket.call("session/send", programtest.Object{"session_id": sessions[agent], "prompt": "MOCK_REPLY[first]", "agent_type": agent})
		socket.waitFor("event/claude_status", func(p programtest.Object) bool {
			return programtest.Text(p, "state") == "idle" && programtest.Text(p, "session_id") == sessions[agent]
		})
	}
	return server, socket, space, sessions
}

// offered returns the methods that this server has. cdev's other methods are specific to its product.
func offered(t *testing.T, socket *rpcSocket) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, one := range socket.call("rpc.discover", nil)["methods"].([]any) {
		names[programtest.Text(one, "name")] = true
	}
	return names
}

// answeredOtherwise are the deliberate differences from cdev, by recording and method: cdev's code and this server's
// (0 is a result), and the reason.
var answeredOtherwise = map[string]string{
	"initialize 0 -32602":                      "another major version of the protocol is refused, not agreed to",
	"status/health -32700 -32600":              "an envelope that is wrong is an invalid request; what is no JSON is a parse error",
	" -32700 -32600":                           "as above",
	"rpc.discover -32601 0":                    "the document is a method, too",
	"session/respond -32603 -32602":            "the type is checked before the runtime is asked",
	"workspace/session/unwatch -32602 0":       "the runtime may be left out everywhere",
	"session/info -32603 -32010":               "an unknown session has one code",
	"session/stop -32603 -32010":               "an unknown session has one code",
	"session/stop 0 -32010":                    "what is not there is not stopped",
	"session/start -32004 0":                   "codex is there",
	"session/send -32004 0":                    "codex is there",
	"session/state -32010 0":                   "every stored session has a state",
	"session/state -32010 -32602":              "an agent_type that is not there is refused by every method that takes one",
	"workspace/session/messages -32010 -32602": "the session is there, of the other runtime",
	"session/list 0 -32602":                    "an unknown runtime is an error",
	"workspace/session/activate -32603 -32010": "the session is looked for first",
	"workspace/add -32603 0":                   "two workspaces may share a folder; names are what may not repeat",
	"session/send -32603 0":                    "a message that comes while a turn runs steers it",
	"workspace/session/activate -32603 -32602": "the runtime is checked, too, where it is named",
	"session/send -32603 -32602":               "the mode is checked before the runtime is asked",
	"session/input 0 -32603":                   "a key with nothing to choose from does nothing, and says so",
	"workspace/remove 0 -32603":                "a workspace with sessions is not removed: they would have no place",
	"session/state 0 -32010":                   "the session was one of a hook, which are not served",
	"permission/respond 0 -32603":              "the request was one of a hook, which are not served",
	"permission/request 0 -32601":              "agents ask the server by their own protocol; no hook does",
}

// TestRecordedClientsOfCdev: recorded requests get responses with cdev's members and codes, except for the listed
// differences.
func TestRecordedClientsOfCdev(t *testing.T) {
	t.Parallel()
	server, first, space, sessions := cdevSite(t)
	methods := offered(t, first)
	replace := map[string]string{"105d731c-3c9c-482e-a6d5-e00c3ee3d7a7": space,
		"11111111-2222-4333-8444-555555555555": sessions["claude"], "99999999-8888-4777-8666-555555555555": sessions["codex"],
		"/WORKSPACES": server.Workspace}
	replaced := func(text string) string {
		for from, to := range replace {
			text = strings.ReplaceAll(text, from, to)
		}
		return text
	}
	for _, name := range []string{"demo", "fresh", "fresh2"} {
		if err := os.Mkdir(filepath.Join(server.Workspace, name), 0o755); err != nil { //nolint:gosec // like any workspace
			t.Fatal(err)
		}
	}
	sockets := map[string]*rpcSocket{}
	answers := map[string]recordedFrame{}
	all := recorded[recordedFrame](t, "frames.jsonl")
	for _, one := range all {
		if one.Answers != nil {
			answers[one.Recording+one.Conn+string(one.Answers)] = one
		}
	}
	used, compared := map[string]bool{}, 0
	for _, one := range all {
		socket := sockets[one.Recording+one.Conn]
		if socket == nil {
			socket = dialRPC(server, t, "/ws", nil)
			sockets[one.Recording+one.Conn] = socket
		}
		method := programtest.Text(one.Frame, "method")
		if one.Answers != nil || one.Raw != "" || one.Frame["id"] == nil || !methods[method] && method != "does/not/exist" &&
			method != "permission/request" {
			continue
		}
		encoded, err := json.Marshal(one.Frame)
		if err != nil {
			t.Fatal(err)
		}
		id, _ := json.Marshal(one.Frame["id"])
		was, known := answers[one.Recording+one.Conn+string(id)]
		if !known {
			continue // the recording ended earlier
		}
		socket.mu.Lock()
		from := len(socket.all)
		socket.mu.Unlock()
		socket.send(replaced(string(encoded)))
		got, _ := socket.find(from, "the answer to "+string(encoded), func(m rpcMessage) bool {
			return m.Method == "" && string(m.ID) == string(id)
		})
		compared++
		if was.Made != "" {
			replace[was.Made] = programtest.Text(got.result(), "id")
			if sent := programtest.Text(got.result(), "session_id"); strings.HasPrefix(sent, "temp-") {
				socket.waitFor("event/session_id_resolved", nil)
			}
		}
		code := 0
		if got.Error != nil {
			code = got.Error.Code
		}
		if difference := fmt.Sprint(method, " ", was.Code, " ", code); was.Code != code {
			if answeredOtherwise[difference] == "" {
				t.Errorf("%s: %s was answered %d, is\n%s (%q)", one.Recording, encoded, was.Code, got.raw, difference)
			}
			used[difference] = true
			continue
		}
		for _, member := range was.Members {
			if _, there := got.result()[member]; !there && !leftOut(method, member) {
				t.Errorf("%s: %s has no %s: %s", one.Recording, method, member, got.raw)
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d answers were compared", compared)
	}
}

// leftOut reports members specific to cdev's product: its git state and its delivery reports.
func leftOut(method, member string) bool {
	switch member {
	case "git", "git_state", "is_git_repo", "git_last_error", "git_repo_name", "git_tracker_state", "delivery", "message",
		"workspace_name":
		return true
	}
	return method == "session/get" || method == "session/start" && member == "has_pending_permission"
}

// mobileStatuses and mobileAgents are all values that cdev's mobile client can parse.
var (
	mobileStatuses = []string{"running", "historical", "stopped", "starting", "stopping", "error", "attached", "started",
		"existing", "not_found"}
	mobileAgents = []string{"claude", "codex"}
)

// decodeAsMobile is a port of the strict parts of the mobile client's decoders. It fails where they would.
func decodeAsMobile(method string, result any) (problems []string) {
	texts := func(name string, value any) {
		list, is := value.([]any)
		for _, one := range list {
			_, isText := one.(string)
			is = is && isText
		}
		if value != nil && !is {
			problems = append(problems, fmt.Sprintf("%s is no list of texts: %v", name, value))
		}
	}
	members, is := result.(programtest.Object)
	if !is {
		return []string{fmt.Sprintf("the result is no object: %v", result)}
	}
	if method == "initialize" {
		capabilities, _ := members["capabilities"].(programtest.Object)
		for _, name := range []string{"agents", "supportedAgents", "features"} {
			texts(name, capabilities[name])
		}
		registry, given := capabilities["runtimeRegistry"].(programtest.Object)
		runtimes, is := registry["runtimes"].([]any)
		is = is || !given // then it behaves as before registries existed
		for _, one := range runtimes {
			_, isText := one.(programtest.Object)["id"].(string)
			is = is && isText
		}
		if _, named := members["server_info"].(programtest.Object)["version"].(string); !is || !named {
			problems = append(problems, "initialize would fail as 'does not support JSON-RPC 2.0'")
		}
		return problems
	}
	return append(problems, decodeSessions(method, members)...)
}

// goesOnWith returns the runtime that the mobile client uses: the registry's default, or claude without a registry.
func goesOnWith(initialized programtest.Object) string {
	capabilities, _ := initialized["capabilities"].(programtest.Object)
	if registry, given := capabilities["runtimeRegistry"].(programtest.Object); given {
		return programtest.Text(registry, "defaultRuntime")
	}
	return "claude"
}

// decodeSessions checks every session in a result, and the result itself if it is one.
func decodeSessions(method string, members programtest.Object) (problems []string) {
	if _, isSession := members["session_id"]; isSession {
		if status, has := members["status"].(string); has &&
			(method == "session/start" || method == "session/state" || members["summary"] != nil) &&
			!slices.Contains(mobileStatuses, status) {
			problems = append(problems, "status "+status)
		}
		if agent, has := members["agent_type"].(string); has && !slices.Contains(mobileAgents, agent) {
			problems = append(problems, "agent_type "+agent)
		}
	}
	for _, name := range []string{"sessions", "workspaces"} {
		list, _ := members[name].([]any)
		for _, one := range list {
			problems = append(problems, decodeSessions(name, one.(programtest.Object))...)
		}
	}
	return problems
}

// missing returns the members that a client needs and the result lacks: a.b, a[].b.
func missing(must []string, result any) (gone []string) {
	for _, path := range must {
		list, inner, nested := strings.Cut(path, "[].")
		members, _ := result.(programtest.Object)
		switch value, there := members[list]; {
		case !there || value == nil:
			gone = append(gone, path)
		case nested:
			for _, one := range value.([]any) {
				gone = append(gone, missing([]string{inner}, one)...)
			}
		}
	}
	return gone
}

// TestTheMobileClient: a typical visit of cdev's mobile client, in its spelling. Every response has the required
// members and passes the client's decoders.
func TestTheMobileClient(t *testing.T) {
	t.Parallel()
	server, other, space, sessions := cdevSite(t)
	socket := dialRPC(server, t, "/ws", nil)
	// An unreadable runtime does no harm, nor does a registry that the client does not read.
	ids := map[string]string{`"W"`: `"` + space + `"`, `"S"`: `"` + sessions["claude"] + `"`,
		`"hello"`: `"MOCK_CMD[touch mobile.txt]"`}
	for _, one := range recorded[struct {
		Send programtest.Object
		Must []string
	}](t, "mobile.jsonl") {
		encoded, err := json.Marshal(one.Send)
		if err != nil {
			t.Fatal(err)
		}
		said := string(encoded)
		for from, to := range ids {
			said = strings.ReplaceAll(said, from, to)
		}
		method := programtest.Text(one.Send, "method")
		socket.mu.Lock()
		from := len(socket.all)
		socket.mu.Unlock()
		socket.send(said)
		if one.Send["id"] == nil {
			continue
		}
		id, _ := json.Marshal(one.Send["id"])
		got, _ := socket.find(from, "the answer to "+said, func(m rpcMessage) bool {
			return m.Method == "" && string(m.ID) == string(id)
		})
		if method == "session/respond" { // this visit has no open request
			if got.Error == nil || got.Error.Code != -32603 {
				t.Errorf("%s", got.raw)
			}
			continue
		}
		if got.Error != nil {
			t.Errorf("%s is answered %s", said, got.raw)
			continue
		}
		result := got.result()
		if gone := missing(one.Must, result); len(gone) > 0 {
			t.Errorf("%s misses %v: %s", method, gone, got.raw)
		}
		if problems := decodeAsMobile(method, result); len(problems) > 0 {
			t.Errorf("%s cannot be read: %v: %s", method, problems, got.raw)
		}
		if method == "initialize" { // R1, RR-23: without the registry the response is that of an older server
			delete(result["capabilities"].(programtest.Object), "runtimeRegistry")
			problems := decodeAsMobile(method, result)
			if agent := goesOnWith(result); len(problems) > 0 || goesOnWith(got.result()) != agent || agent != "claude" {
				t.Errorf("without a registry it goes on with %s: %v", agent, problems)
			}
		}
		if method == "session/send" {
			asked := socket.waitFor("event/pty_permission", nil)
			ids[`"R"`] = `"` + programtest.Text(asked, "tool_use_id") + `"`
		}
	}
	for _, one := range socket.notifications("") {
		if one.Params["session_id"] == nil || one.Params["workspace_id"] == nil || one.Params["agent_type"] == nil ||
			one.Params["timestamp"] == nil {
			t.Errorf("it would drop %s", one.raw)
		}
	}
	other.call("status/health", nil)
}
