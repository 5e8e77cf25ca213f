package opencode_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode"
	"harness/internal/runtime/stdio"
	"harness/tests/mockmodel"
	"harness/tests/polling"
	"harness/tests/runtimetest"
)

// conversation is a conversation with the real OpenCode in a test.
type conversation struct {
	*testing.T
	*opencode.OpenCode
	store  *runtimetest.Store
	thread runtime.Thread
}

func (s *shared) openConversation(t *testing.T, store *runtimetest.Store, in runtime.StartThread) conversation {
	t.Helper()
	in.SessionID = uuid.NewString()
	s.mu.Lock()
	s.stores[in.SessionID] = store
	s.mu.Unlock()
	thread, err := s.StartThread(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return conversation{t, s.OpenCode, store, thread}
}

func (k conversation) say(text string) string {
	k.Helper()
	started, err := k.StartTurn(k.Context(), runtime.StartTurn{ThreadID: k.thread.ID, Input: runtimetest.Text(text)})
	if err != nil {
		k.Fatal(err)
	}
	return started.TurnID
}

func (k conversation) answer(turn string, reply runtime.Reply) runtime.InteractiveRequested {
	k.Helper()
	asked := k.store.Asked(k.T, turn, runtime.RequestApproval)
	if err := k.Answer(k.Context(), runtimetest.Ref(asked), reply); err != nil {
		k.Fatal(err)
	}
	return asked.Change.(runtime.InteractiveRequested)
}

func (k conversation) done(turn string) {
	k.Helper()
	if end := k.store.End(k.T, turn); end.Status != runtime.TurnDone {
		k.Errorf("the turn ended %+v", end)
	}
}

func full(dir, approval string) runtime.StartThread {
	return runtime.StartThread{Cwd: dir, ApprovalPolicy: approval, Sandbox: "danger-full-access", NetworkAccess: "enabled"}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Behavior specific to OpenCode, with the real one.
func TestOpenCode(t *testing.T) {
	t.Parallel()
	common := newShared(t)
	for name, test := range map[string]func(*testing.T, *shared, *runtimetest.Store){
		"levels": levelsHold, "approvals for the session": approvalsStay, "sub-agents": subAgents, "conversations": library, "files": files,
		"levels that change": levelsChange, "what commands get": commandsEnvironment, "what a message may be": inputs,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := runtimetest.NewStore()
			test(t, common, store)
			opencode.CheckRules(t, store.Signals(), false)
		})
	}
}

// A turn with a silent model ends with the reason.
func TestUnresponsiveTurnIsEnded(t *testing.T) {
	t.Parallel()
	store := runtimetest.NewStore()
	site := newSite(t, store.Sink, store.Resume)
	site.options.Supervise.KeepOnStop, site.options.TurnWatchdog = false, stdio.TurnWatchdog(12*time.Second)
	plantSources(t, site)
	agent := site.agent()
	thread, err := agent.StartThread(t.Context(), runtime.StartThread{SessionID: uuid.NewString(), Cwd: site.dir})
	if err != nil {
		t.Fatal(err)
	}
	started, err := agent.StartTurn(t.Context(), runtime.StartTurn{ThreadID: thread.ID, Input: runtimetest.Text("MOCK_HOLD[for ever]")})
	if err != nil {
		t.Fatal(err)
	}
	if end := store.End(t, started.TurnID); end.Status != runtime.TurnFailed ||
		!strings.Contains(end.Error, "said nothing for 12s (HARNESS_TURN_IDLE") {
		t.Errorf("it ended %+v", end)
	}
	requireSources(t, site, agent.Adapter.(runtime.Sourcer))
}

// plantSources puts files that OpenCode could read without a request into its home and into the folder.
func plantSources(t *testing.T, s *site) {
	t.Helper()
	mcp := `{"mcp":{"own":{"type":"local","enabled":true,"command":["touch","` + filepath.Join(s.dir, "server") +
		`"]}},"instructions":["more.md"]}`
	for name, text := range map[string]string{
		filepath.Join(s.dir, "AGENTS.md"): "mark of the project", filepath.Join(s.dir, "CLAUDE.md"): "mark of the project",
		filepath.Join(s.dir, "opencode.json"): mcp, filepath.Join(s.dir, "more.md"): "mark of the project",
		filepath.Join(s.options.Home.Dir, "config", "opencode", "AGENTS.md"): "mark of the home",
		filepath.Join(s.dir, ".opencode", "agent", "own.md"):                 "---\ndescription: mark of the project\nmode: subagent\n---\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// requireSources checks that the model got the home's sources, but not the folder's, and that the adapter reports
// this. RA-16
func requireSources(t *testing.T, s *site, sourcer runtime.Sourcer) {
	t.Helper()
	home := false
	for _, request := range s.model.Requests() {
		home = home || strings.Contains(string(request.Body), "mark of the home")
		if strings.Contains(string(request.Body), "mark of the project") {
			t.Error("the model got what lies in the folder")
		}
	}
	found, err := sourcer.Sources("", s.dir, runtime.ImplicitHome)
	if err != nil || !home || len(found) != 1 || filepath.Base(found[0].Path) != "AGENTS.md" || found[0].Scope != runtime.SourceOfHome {
		t.Errorf("the model got what lies in the home: %t; it is said to read %+v, %v", home, found, err)
	}
	if exists(filepath.Join(s.dir, "server")) {
		t.Error("the folder started a server")
	}
}

// The levels keep their promises: inside, outside, over the network, with a command and with OpenCode's own tools.
func levelsHold(t *testing.T, s *shared, store *runtimetest.Store) {
	private := filepath.Join(folder(t), "private")
	if err := os.WriteFile(private, []byte("private-canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	leaked := func() bool {
		return slices.ContainsFunc(s.model.Outputs(), func(o mockmodel.Output) bool { return strings.Contains(o.Text, "private-canary") })
	}
	for _, test := range []struct {
		levels runtime.StartThread
		want   runtimetest.Reach
		// fetches: its own tool reaches the network. A command reaches it only if it may run.
		fetches bool
	}{
		{runtime.StartThread{}, runtimetest.Reach{}, false},
		{runtime.StartThread{Sandbox: "read-only", NetworkAccess: "restricted", ApprovalPolicy: "never"}, runtimetest.Reach{}, false},
		{runtime.StartThread{Sandbox: "read-only", NetworkAccess: "enabled", ApprovalPolicy: "never"}, runtimetest.Reach{}, true},
		{full("", "never"), runtimetest.Everything(), true},
	} {
		ground, web := runtimetest.NewGround(t, folder(t)), runtimetest.NewGround(t, "")
		test.levels.Cwd = ground.Dir
		k := s.openConversation(t, store, test.levels)
		k.done(k.say(ground.Tries(script().Command, func(file string) string { return "MOCK_PATCH[" + file + "]" }) +
			` MOCK_CALL[webfetch|{"url":"` + web.URL + `","format":"text"}]END MOCK_CALL[read|{"filePath":"` + private + `"}]END`))
		if got := ground.Reached(); got != test.want || web.Reached().Network != test.fetches {
			t.Errorf("%+v: it could %+v and fetched: %t; the model received %v", test.levels, got, web.Reached().Network, s.model.Outputs())
		}
		if all := test.want == runtimetest.Everything(); leaked() != all {
			t.Errorf("%+v: a file outside was read: %t", test.levels, leaked())
		}
	}
	for _, in := range []runtime.StartThread{{Sandbox: "workspace-write"}, {Sandbox: "danger-full-access"}, {ApprovalPolicy: "on-failure"},
		{Sandbox: "danger-full-access", NetworkAccess: "restricted"}} {
		var refused *runtime.ControlError
		if _, err := s.StartThread(t.Context(), in); !errors.As(err, &refused) {
			t.Errorf("%+v: %v", in, err)
		}
	}
}

// An approval for the session applies in that session, and in no other of the same folder.
func approvalsStay(t *testing.T, s *shared, store *runtimetest.Store) {
	dir := folder(t)
	one, other := s.openConversation(t, store, full(dir, "untrusted")), s.openConversation(t, store, full(dir, "untrusted"))
	turn := one.say("MOCK_CMD[touch " + filepath.Join(dir, "a") + "]")
	one.answer(turn, runtime.Reply{Decision: "accept", Scope: "session"})
	one.done(turn)
	one.done(one.say("MOCK_CMD[touch " + filepath.Join(dir, "b") + "]"))
	if !exists(filepath.Join(dir, "b")) {
		t.Error("what was allowed for the session did not run")
	}
	turn = other.say("MOCK_CMD[touch " + filepath.Join(dir, "c") + "]")
	other.answer(turn, runtime.Reply{Decision: "decline", Message: "not in this one"})
	other.done(turn)
	if exists(filepath.Join(dir, "c")) {
		t.Error("it was allowed in another session")
	}
	outputs := s.model.Outputs()
	if !slices.ContainsFunc(outputs, func(o mockmodel.Output) bool { return strings.Contains(o.Text, "not in this one") }) {
		t.Error("the reason did not reach the model")
	}
}

// A sub-agent's requests belong to the turn it works for, with the rules of that session, and the turn shows one call
// for it.
func subAgents(t *testing.T, s *shared, store *runtimetest.Store) {
	dir := folder(t)
	task := func(file string) string {
		return `MOCK_CALL[task|{"description":"a task","prompt":"MOCK_CMD[touch ` + filepath.Join(dir, file) +
			`]","subagent_type":"general"}]END`
	}
	k := s.openConversation(t, store, full(dir, "untrusted"))
	turn := k.say(task("asked"))
	if first := k.answer(turn, runtime.Reply{Decision: "accept", Scope: "turn"}); first.Asked.Tool != "task" {
		t.Errorf("asked %+v", first)
	}
	second := k.asked(turn, 2)
	if exists(filepath.Join(dir, "asked")) || second.Change.(runtime.InteractiveRequested).Asked.Subject != runtime.SubjectCommand {
		t.Errorf("asked %+v", second)
	}
	if err := k.Answer(t.Context(), runtimetest.Ref(second), runtime.Reply{Decision: "accept"}); err != nil {
		t.Fatal(err)
	}
	k.done(turn)
	free := s.openConversation(t, store, full(dir, "never"))
	last := free.say(task("free"))
	free.done(last)
	if !exists(filepath.Join(dir, "asked")) || !exists(filepath.Join(dir, "free")) {
		t.Error("a sub-agent did not do what it may")
	}
	for turn, want := range map[string]string{turn: "userMessage mcpToolCall agentMessage", last: "userMessage mcpToolCall agentMessage"} {
		if got := k.items(turn); got != want {
			t.Errorf("the turn has %s", got)
		}
	}
	for _, signal := range store.Signals() {
		if change, is := signal.Change.(runtime.InteractiveRequested); is && signal.TurnID == last {
			t.Errorf("a session that never asks asked %+v", change)
		}
	}
}

// asked waits for the n-th request of a turn.
func (k conversation) asked(turn string, n int) runtime.Signal {
	k.Helper()
	var requests []runtime.Signal
	if !polling.Until(patience, func() bool {
		requests = nil
		for _, signal := range k.store.Signals() {
			if _, is := signal.Change.(runtime.InteractiveRequested); is && signal.TurnID == turn {
				requests = append(requests, signal)
			}
		}
		return len(requests) >= n
	}) {
		for _, signal := range k.store.Signals() {
			k.Logf("%s", signal.Raw)
		}
		k.Fatalf("only %d requests of turn %s", len(requests), turn)
	}
	return requests[n-1]
}

// items returns the types of a turn's finished items.
func (k conversation) items(turn string) string {
	var types []string
	for _, signal := range k.store.Signals() {
		if change, is := signal.Change.(runtime.ItemChanged); is && change.Done && change.TurnID == turn {
			types = append(types, change.Item.Type)
		}
	}
	return strings.Join(types, " ")
}

// Conversations can be listed, named, archived, read, forked and deleted; a fork has the history, and no more rights.
func library(t *testing.T, s *shared, store *runtimetest.Store) {
	dir := folder(t)
	k := s.openConversation(t, store, runtime.StartThread{Cwd: dir})
	native := k.thread.Native()
	turns := []string{k.say("MOCK_REPLY[first]")}
	k.done(turns[0])
	turns = append(turns, k.say("MOCK_CALL[glob|{\"pattern\":\"*\"}]END"))
	k.done(turns[1])
	if err := s.NameThread(t.Context(), native, "a name"); err != nil {
		t.Fatal(err)
	}
	read, err := s.ReadThread(t.Context(), native, true)
	if err != nil || read.Name != "a name" || read.ID != k.thread.ID || read.Cwd != dir || len(read.Turns) != 2 {
		t.Fatalf("read %+v, %v", read, err)
	}
	for i, turn := range read.Turns {
		types := ""
		for _, item := range turn.Items {
			types = strings.TrimSpace(types + " " + item.Type)
		}
		if turn.ID != turns[i] || turn.Status != runtime.TurnDone || turn.CompletedAt < turn.StartedAt || types != k.items(turn.ID) {
			t.Errorf("turn %d is %+v, its items were %s", i, turn, k.items(turn.ID))
		}
	}
	listed := func(archived bool) bool {
		page, err := s.ListThreads(t.Context(), runtime.ListThreads{Archived: archived, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(page.Threads, func(one runtime.Thread) bool { return one.Native() == native && one.Name == "a name" })
	}
	if !listed(false) || listed(true) {
		t.Error("it is not listed")
	}
	if err := s.ArchiveThread(t.Context(), native); err != nil || listed(false) || !listed(true) {
		t.Errorf("it is not put away, %v", err)
	}
	if back, err := s.UnarchiveThread(t.Context(), native); err != nil || back.Archived || !listed(false) || listed(true) {
		t.Errorf("it is not back: %+v, %v", back, err)
	}
	fork, err := s.ForkThread(t.Context(), native)
	if err != nil || fork.Native() == native {
		t.Fatalf("forked %+v, %v", fork, err)
	}
	s.mu.Lock()
	s.stores[fork.Native()] = store
	s.mu.Unlock()
	second := conversation{t, s.OpenCode, store, runtime.Thread{ID: fork.Native()}}
	second.done(second.say("MOCK_CMD[touch " + filepath.Join(dir, "fork") + "]"))
	if history, err := s.ReadThread(t.Context(), fork.Native(), true); err != nil || len(history.Turns) != 3 ||
		exists(filepath.Join(dir, "fork")) {
		t.Errorf("the fork is %+v, %v", history, err)
	}
	for i, want := range []int{1, 0} {
		if files, err := s.DeleteThread(t.Context(), native); err != nil || files != want {
			t.Errorf("deletion %d: %d files, %v", i, files, err)
		}
	}
	if _, err := s.ReadThread(t.Context(), native, false); !errors.Is(err, runtime.ErrThreadNotFound) {
		t.Errorf("read a deleted one: %v", err)
	}
	if _, err := s.ResumeThread(t.Context(), runtime.ResumeThread{ThreadID: uuid.NewString(), NativeID: native}); !errors.Is(err,
		runtime.ErrThreadNotFound) {
		t.Errorf("resume a deleted one: %v", err)
	}
	if _, err := s.DeleteThread(t.Context(), uuid.NewString()); err != nil {
		t.Errorf("delete one that never was: %v", err)
	}
}

// Writing a file is a change of that file with its content, before and after the approval.
func files(t *testing.T, s *shared, store *runtimetest.Store) {
	dir := folder(t)
	k := s.openConversation(t, store, full(dir, "untrusted"))
	file := filepath.Join(dir, "made.txt")
	turn := k.say("MOCK_PATCH[" + file + "]")
	if asked := k.answer(turn, runtime.Reply{Decision: "accept"}); asked.Asked.Subject != runtime.SubjectFileChange {
		t.Errorf("asked %+v", asked)
	}
	k.done(turn)
	found := false
	for _, signal := range store.Signals() {
		if change, is := signal.Change.(runtime.ItemChanged); is && change.Done && change.Item.Type == "fileChange" {
			found = strings.Contains(change.Item.Details, file) && strings.Contains(change.Item.Details, `"add"`) &&
				strings.Contains(change.Item.Details, "hello from mock")
		}
	}
	if content, err := os.ReadFile(file); err != nil || !found {
		t.Errorf("the file is %q, %v; reported: %t", content, err, found)
	}
	edits := s.openConversation(t, store, full(dir, "on-request"))
	outside := filepath.Join(folder(t), "outside.txt")
	turn = edits.say("MOCK_PATCH[" + filepath.Join(dir, "free.txt") + "] MOCK_PATCH[" + outside + "]")
	edits.answer(turn, runtime.Reply{Decision: "decline"})
	edits.done(turn)
	if !exists(filepath.Join(dir, "free.txt")) || exists(outside) {
		t.Error("on-request does not ask for what is outside alone")
	}
}

// A command gets OpenCode's environment and its user's shell, but not the password of OpenCode's server: its output
// goes into a transcript.
func commandsEnvironment(t *testing.T, s *shared, store *runtimetest.Store) {
	k := s.openConversation(t, store, full(folder(t), "never"))
	k.done(k.say("MOCK_CMD[env; echo name=$0]"))
	printed := ""
	for _, output := range s.model.Outputs() {
		if strings.Contains(output.Text, "name=") {
			printed = output.Text
		}
	}
	if strings.Contains(printed, "OPENCODE_SERVER_PASSWORD") || strings.Contains(printed, "OPENCODE_CONFIG_CONTENT") ||
		!strings.Contains(printed, "HOME="+s.options.Home.Dir) || strings.Contains(printed, "/shell/") {
		t.Errorf("it printed %s", printed)
	}
}

// A message may change the levels of its session, in both directions. A session that an earlier server opened keeps
// its levels.
func levelsChange(t *testing.T, s *shared, store *runtimetest.Store) {
	dir := folder(t)
	k := s.openConversation(t, store, full(dir, "never"))
	try := func(name string, in runtime.StartTurn) {
		in.ThreadID, in.Input = k.thread.ID, runtimetest.Text("MOCK_CMD[touch "+filepath.Join(dir, name)+"]")
		started, err := k.StartTurn(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		k.done(started.TurnID)
	}
	try("one", runtime.StartTurn{})
	try("two", runtime.StartTurn{Sandbox: "read-only", NetworkAccess: "restricted"})
	try("three", runtime.StartTurn{Sandbox: "danger-full-access", NetworkAccess: "enabled"})
	for name, want := range map[string]bool{"one": true, "two": false, "three": true} {
		if exists(filepath.Join(dir, name)) != want {
			t.Errorf("%s ran: %t", name, !want)
		}
	}
	var refused *runtime.ControlError
	if _, err := k.StartTurn(t.Context(), runtime.StartTurn{ThreadID: k.thread.ID, NetworkAccess: "restricted",
		Input: runtimetest.Text("x")}); !errors.As(err, &refused) {
		t.Errorf("half a sandbox: %v", err)
	}
	if _, err := k.StartTurn(t.Context(), runtime.StartTurn{ThreadID: k.thread.ID, Cwd: "/", Input: runtimetest.Text("x")}); !errors.Is(
		err, runtime.ErrInvalidParams) {
		t.Errorf("another folder: %v", err)
	}
}

// The model gets images; the adapter refuses unsupported input, and reports a missing model as such.
func inputs(t *testing.T, s *shared, store *runtimetest.Store) {
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	k := s.openConversation(t, store, runtime.StartThread{Cwd: folder(t), Model: "mock/m"})
	started, err := k.StartTurn(t.Context(), runtime.StartTurn{ThreadID: k.thread.ID, Model: "mock/m",
		Input: append(runtimetest.Text("MOCK_REPLY[seen]"), json.RawMessage(`{"type":"image","url":"data:image/png;base64,`+pixel+`"}`))})
	if err != nil {
		t.Fatal(err)
	}
	k.done(started.TurnID)
	if !slices.ContainsFunc(s.model.Requests(), func(r mockmodel.Request) bool { return strings.Contains(string(r.Body), pixel) }) {
		t.Error("the image did not reach the model")
	}
	for name, in := range map[string]runtime.StartTurn{
		"nothing": {}, "a skill": {Input: []json.RawMessage{json.RawMessage(`{"type":"skill"}`)}},
		"no part":         {Input: []json.RawMessage{json.RawMessage(`1`)}},
		"a relative path": {Input: []json.RawMessage{json.RawMessage(`{"type":"localImage","path":"x.png"}`)}},
		"half a model":    {Input: runtimetest.Text("x"), Model: "m"},
	} {
		in.ThreadID = k.thread.ID
		if _, err := k.StartTurn(t.Context(), in); !errors.Is(err, runtime.ErrInvalidParams) {
			t.Errorf("%s: %v", name, err)
		}
	}
	started, err = k.StartTurn(t.Context(), runtime.StartTurn{ThreadID: k.thread.ID, Model: "mock/none", Input: runtimetest.Text("x")})
	if err == nil {
		if end := store.End(t, started.TurnID); end.Status != runtime.TurnFailed || end.Error == "" {
			t.Errorf("with a model that is not there the turn ended %+v", end)
		}
	}
	t.Logf("a model that is not there: %v", err)
	started, err = k.StartTurn(t.Context(),
		runtime.StartTurn{ThreadID: k.thread.ID, Model: "mock/m", Input: runtimetest.Text("MOCK_REPLY[on]")})
	if err != nil {
		t.Fatal(err)
	}
	k.done(started.TurnID)
}
