package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/claude"
	"harness/internal/runtime/stdio"
	"harness/internal/runtime/wire"
	"harness/tests/polling"
	"harness/tests/runtimetest"
)

// stage is a conversation with the real Claude Code. It answers requests as they arrive.
type stage struct {
	*rig
	*runtimetest.Store
	*runtimetest.Agent
	t        *testing.T
	thread   string
	controls runtime.StartThread

	mu    sync.Mutex
	reply func(runtime.Signal) runtime.Reply
	asked []runtime.Signal
}

// newStage opens a conversation. It accepts every request unless onAsk decides otherwise.
func newStage(t *testing.T, controls runtime.StartThread, change func(*rig)) *stage {
	t.Helper()
	s := prepared(t, controls, change)
	thread, err := s.StartThread(t.Context(), s.controls)
	if err != nil {
		t.Fatal(err)
	}
	s.thread = thread.ID
	return s
}

func prepared(t *testing.T, controls runtime.StartThread, change func(*rig)) *stage {
	t.Helper()
	s := &stage{Store: runtimetest.NewStore(), t: t, controls: controls, reply: func(runtime.Signal) runtime.Reply {
		return runtime.Reply{Decision: "accept"}
	}}
	s.rig = newRig(t, s.Store, false)
	s.controls.Cwd = s.dir
	if change != nil {
		change(s.rig)
	}
	var answering sync.WaitGroup
	t.Cleanup(answering.Wait)
	s.setup.Supervise.Sink = func(batch runtime.Batch) {
		s.Sink(batch)
		for _, signal := range batch.Signals {
			if _, is := signal.Change.(runtime.InteractiveRequested); !is {
				continue
			}
			s.mu.Lock()
			s.asked = append(s.asked, signal)
			given := s.reply(signal)
			s.mu.Unlock()
			answering.Go(func() {
				if err := s.Answer(t.Context(), runtimetest.Ref(signal), given); err != nil && t.Context().Err() == nil {
					t.Errorf("answer %s: %v", signal.Params, err)
				}
			})
		}
	}
	s.Agent = s.start(t)
	return s
}

func (s *stage) onAsk(reply runtime.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reply = func(runtime.Signal) runtime.Reply { return reply }
}

// turn sends a message, waits for the end and returns the requested approvals.
func (s *stage) turn(text string) (end runtime.TurnCompleted, asked []runtime.Signal) {
	s.t.Helper()
	s.mu.Lock()
	before := len(s.asked)
	s.mu.Unlock()
	end = s.End(s.t, s.say(runtimetest.Text(text)))
	s.mu.Lock()
	defer s.mu.Unlock()
	return end, s.asked[before:]
}

func (s *stage) say(input []json.RawMessage) string {
	s.t.Helper()
	started, err := s.StartTurn(s.t.Context(), runtime.StartTurn{ThreadID: s.thread, Input: input})
	if err != nil {
		s.t.Fatal(err)
	}
	return started.TurnID
}

// shown returns the last complete item of a type.
func (s *stage) shown(itemType string) (last string) {
	for _, signal := range s.Signals() {
		if change, is := signal.Change.(runtime.ItemChanged); is && change.Done && change.Item.Type == itemType {
			last = string(signal.Raw)
		}
	}
	return last
}

func (s *stage) made(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

func (s *stage) received(match func(string) bool) bool {
	for _, output := range s.model.Outputs() {
		if match(output.Text) {
			return true
		}
	}
	return false
}

func open() runtime.StartThread {
	return runtime.StartThread{ApprovalPolicy: "untrusted", Sandbox: "danger-full-access", NetworkAccess: "enabled"}
}

// Claude Code gets a user's answers with the intended meaning. An approval for the session also holds in its next
// process.
func TestAnswers(t *testing.T) {
	t.Parallel()
	s := newStage(t, open(), nil)
	const reason = "not before the freeze is over"
	s.onAsk(runtime.Reply{Decision: "decline", Message: reason})
	if _, asked := s.turn("MOCK_CMD[touch refused]"); len(asked) != 1 || s.made("refused") ||
		!s.received(func(text string) bool { return strings.Contains(text, reason) }) {
		t.Errorf("refused: asked %d times, ran %t; the model received %v", len(asked), s.made("refused"), s.model.Outputs())
	}
	s.onAsk(runtime.Reply{Decision: "accept",
		UpdatedInput: json.RawMessage(`{"command":"touch better","description":"other"}`)})
	if s.turn("MOCK_CMD[touch worse]"); s.made("worse") || !s.made("better") {
		t.Error("the edited command did not run in place of the asked one")
	}
	if shown := s.shown("commandExecution"); !strings.Contains(shown, "touch better") || strings.Contains(shown, "touch worse") {
		t.Errorf("of an edited command is shown: %s", shown)
	}
	s.onAsk(runtime.Reply{Decision: "accept", Scope: "session",
		UpdatedInput: json.RawMessage(`{"command":"echo fine","description":"other"}`)})
	if s.turn("MOCK_CMD[touch worst]"); s.made("worst") {
		t.Error("a command ran that was edited away")
	}
	s.onAsk(runtime.Reply{Decision: "decline"})
	if _, asked := s.turn("MOCK_CMD[touch worst] MOCK_CMD[echo fine]"); len(asked) != 1 || s.made("worst") {
		t.Errorf("an edited command allowed for the session: asked %d times about it and the one it replaced, which ran: %t",
			len(asked), s.made("worst"))
	}
	s.onAsk(runtime.Reply{Decision: "accept", Scope: "session"})
	if _, asked := s.turn("MOCK_CMD[echo x >> often] MOCK_CMD[echo x >> often]"); len(asked) != 1 {
		t.Errorf("allowed for the session: asked %d times in its turn", len(asked))
	}
	if _, asked := s.turn(
		"MOCK_PATCH[often2] MOCK_CALL[Edit|{\"file_path\":\"often2\",\"old_string\":\"mock\",\"new_string\":\"you\"}]END"); len(
		asked) != 1 {
		t.Errorf("a file allowed for the session: asked %d times", len(asked))
	}
	if raw, err := os.ReadFile(filepath.Join(s.dir, "often2")); err != nil || string(raw) != "hello from you\n" {
		t.Errorf("the file is %q, %v", raw, err)
	}
	s.onAsk(runtime.Reply{Decision: "decline"})
	s.Kill(t, s.thread)
	s.Exited(t, s.thread)
	if _, asked := s.turn("MOCK_CMD[echo x >> often]"); len(asked) != 0 {
		t.Errorf("allowed for the session: asked %d times in its next process", len(asked))
	}
	if raw, err := os.ReadFile(filepath.Join(s.dir, "often")); err != nil || string(raw) != "x\nx\nx\n" {
		t.Errorf("it ran %q, %v", raw, err)
	}
	ref := runtimetest.Ref(s.asked[0])
	for _, wrong := range []runtime.Reply{{Decision: "accept", UpdatedInput: json.RawMessage(`[]`)},
		{Decision: "accept", Remember: json.RawMessage(`{}`)},
		{Decision: "accept", Choice: json.RawMessage(`"x"`)}} {
		var refused *runtime.ReplyError
		if err := s.CheckReply(ref, wrong); !errors.As(err, &refused) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

// Approval covers a sub-agent's calls, too; one item represents the sub-agent. Its remaining work may start a
// separate turn.
func TestSubagents(t *testing.T) {
	t.Parallel()
	s := newStage(t, open(), nil)
	text := `MOCK_CALL[Agent|{"description":"d","prompt":"MOCK_CMD[touch below]","subagent_type":"general-purpose",` +
		`"run_in_background":false}]END`
	end, asked := s.turn(text)
	if end.Status != runtime.TurnDone || len(asked) != 1 || !s.made("below") {
		t.Errorf("it ended %+v, asked %d times, made %t", end, len(asked), s.made("below"))
	}
	shown := 0
	for _, signal := range s.Signals() {
		if change, is := signal.Change.(runtime.ItemChanged); is && change.Done && change.Item.Type != "userMessage" &&
			change.Item.Type != "agentMessage" {
			shown++
		}
	}
	if shown != 1 {
		t.Errorf("%d items show a sub-agent's work", shown)
	}
	strict := open()
	strict.Sandbox, strict.NetworkAccess = "read-only", "restricted"
	s = newStage(t, strict, nil)
	if _, asked := s.turn(text); len(asked) != 0 || s.made("below") {
		t.Errorf("read-only: asked %d times, made %t", len(asked), s.made("below"))
	}
}

// A client that sees the end of a turn may close the conversation, or change its controls, at once.
func TestProcessIsFreeOnceTurnEndIsPublished(t *testing.T) {
	t.Parallel()
	store, ended := runtimetest.NewStore(), make(chan error, 1)
	g := newRig(t, store, false)
	var agent *runtimetest.Agent
	g.setup.Supervise.Sink = func(batch runtime.Batch) {
		for _, signal := range batch.Signals {
			if _, is := signal.Change.(runtime.TurnCompleted); is {
				at, cancel := context.WithCancel(context.Background())
				cancel() // its end waits for this very batch
				ended <- agent.CloseThread(at, signal.ThreadID)
			}
		}
		store.Sink(batch)
	}
	agent = g.start(t)
	controls := open()
	controls.Cwd = g.dir
	thread, err := agent.StartThread(t.Context(), controls)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.StartTurn(t.Context(),
		runtime.StartTurn{ThreadID: thread.ID, Input: runtimetest.Text("MOCK_REPLY[done]")}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; errors.Is(err, runtime.ErrTurnActive) {
		t.Error(err)
	}
}

// A message that arrives during the publication of a process's end goes to the next process.
func TestAMessageBesideTheEndOfAProcess(t *testing.T) {
	t.Parallel()
	store, answer := runtimetest.NewStore(), make(chan error, 2)
	g := newRig(t, store, false)
	var (
		agent  *runtimetest.Agent
		thread runtime.Thread
	)
	g.setup.Supervise.Sink = func(batch runtime.Batch) {
		for _, signal := range batch.Signals {
			if signal.Kind != runtime.SignalExited || len(answer) > 0 {
				continue
			}
			go func() {
				_, err := agent.StartTurn(t.Context(),
					runtime.StartTurn{ThreadID: thread.ID, Input: runtimetest.Text("MOCK_REPLY[again]")})
				answer <- err
			}()
			polling.Until(300*time.Millisecond, func() bool { return len(answer) > 0 }) // it waits for the next one
		}
		store.Sink(batch)
	}
	agent = g.start(t)
	controls := open()
	controls.Cwd = g.dir
	var err error
	if thread, err = agent.StartThread(t.Context(), controls); err != nil {
		t.Fatal(err)
	}
	started, err := agent.StartTurn(t.Context(),
		runtime.StartTurn{ThreadID: thread.ID, Input: runtimetest.Text("MOCK_REPLY[done]")})
	if err != nil {
		t.Fatal(err)
	}
	store.End(t, started.TurnID)
	agent.Kill(t, thread.ID)
	if err := <-answer; err != nil {
		t.Error(err)
	}
}

// A message that arrives too late for the running turn becomes the next turn; images, usage and models are published.
func TestMessages(t *testing.T) {
	t.Parallel()
	s := newStage(t, open(), nil)
	first := s.say(runtimetest.Text("MOCK_HOLD[m]"))
	if err := s.AwaitHeld(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	late, err := s.StartTurn(t.Context(),
		runtime.StartTurn{ThreadID: s.thread, ActiveTurnID: first, Input: runtimetest.Text("MOCK_REPLY[late]")})
	if err != nil || !late.Steered || late.TurnID != first {
		t.Fatalf("it became %+v, %v", late, err)
	}
	s.Release("m")
	s.End(t, first)
	second := s.BegunAfter(t, first)
	if end := s.End(t, second); end.Status != runtime.TurnDone {
		t.Errorf("the late message's turn ended %+v", end)
	}
	const image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	input := append(runtimetest.Text("MOCK_REPLY[seen]"),
		json.RawMessage(`{"type":"image","url":"data:image/png;base64,`+image+`"}`))
	if end := s.End(t, s.say(input)); end.Status != runtime.TurnDone {
		t.Errorf("the turn with an image ended %+v", end)
	}
	requests := s.model.Requests()
	if !strings.Contains(string(requests[len(requests)-1].Body), image) {
		t.Error("the image did not reach the model")
	}
	usage := ""
	for _, signal := range s.Signals() {
		if signal.Method == "thread/tokenUsage/updated" {
			usage = string(signal.Params)
		}
	}
	if !strings.Contains(usage, `"cachedInputTokens":30`) || !strings.Contains(usage, `"inputTokens":150`) {
		t.Errorf("the usage is %s", usage)
	}
	for _, wrong := range []string{`{"type":"image","url":"data:text/plain;base64,aGk="}`,
		`{"type":"image","url":"file:///etc/passwd"}`, `{"type":"hologram"}`, `7`} {
		_, err := s.StartTurn(t.Context(),
			runtime.StartTurn{ThreadID: s.thread, Input: []json.RawMessage{json.RawMessage(wrong)}})
		if !errors.Is(err, runtime.ErrInvalidParams) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	// Another model, and stricter levels, apply from the next turn on, and the conversation continues.
	started, err := s.StartTurn(t.Context(), runtime.StartTurn{ThreadID: s.thread, Model: "claude-sonnet-4-5",
		Sandbox: "read-only", NetworkAccess: "restricted", Input: runtimetest.Text("MOCK_CMD[touch late]")})
	if err != nil {
		t.Fatal(err)
	}
	s.End(t, started.TurnID)
	last := s.model.Requests()[len(s.model.Requests())-1]
	if s.made("late") || !strings.Contains(string(last.Body), `"model":"claude-sonnet-4-5"`) ||
		!strings.Contains(string(last.Body), "MOCK_REPLY[late]") {
		t.Errorf("made %t; the model was asked %.200s", s.made("late"), last.Body)
	}
}

// A busy, healthy process answers the probe: without an answer the supervisor would kill it as hung.
func TestABusyProcessAnswersTheProbe(t *testing.T) {
	t.Parallel()
	s := newStage(t, open(), nil)
	probe := func(when string) {
		if err := s.Adapter.(*claude.Runtime).Probe(t.Context(), s.thread); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	probe("idle")
	turn := s.say(runtimetest.Text("MOCK_HOLD[p]"))
	if err := s.AwaitHeld(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	probe("while the model answers")
	s.Release("p")
	s.End(t, turn)
	fifo := filepath.Join(s.dir, "fifo")
	turn = s.say(runtimetest.Text("MOCK_CMD[mkfifo " + fifo + "; touch runs; cat " + fifo + "]"))
	s.await("runs")
	probe("while a command runs")
	if err := os.WriteFile(fifo, []byte("on"), 0); err != nil {
		t.Error(err)
	}
	s.End(t, turn)
}

// A turn with a silent model ends with the reason, and the conversation continues.
func TestUnresponsiveTurnIsEnded(t *testing.T) {
	t.Parallel()
	s := newStage(t, open(), func(g *rig) { g.setup.TurnWatchdog = stdio.TurnWatchdog(2 * time.Second) })
	if end, _ := s.turn("MOCK_HOLD[for ever]"); end.Status != runtime.TurnFailed ||
		!strings.Contains(end.Error, "said nothing for 2s (HARNESS_TURN_IDLE") {
		t.Errorf("it ended %+v", end)
	}
	if end, _ := s.turn("MOCK_REPLY[again]"); end.Status != runtime.TurnDone {
		t.Errorf("the next one ended %+v", end)
	}
	for _, signal := range s.Signals() {
		if signal.Kind == runtime.SignalExited {
			t.Errorf("its process ended: %+v", signal.Exit)
		}
	}
}

// A request to the model that the real Claude Code retries is published as an error that does not end the turn.
func TestRetriedRequestIsPublished(t *testing.T) {
	t.Parallel()
	s := newStage(t, open(), nil)
	end, _ := s.turn("MOCK_HTTP_500")
	tried := 0
	for _, signal := range s.Signals() {
		if signal.Method == wire.MethodError && strings.Contains(string(signal.Raw), `"willRetry":true`) {
			tried++
		}
	}
	if end.Status != runtime.TurnFailed || tried != 2 { // CLAUDE_CODE_MAX_RETRIES
		t.Errorf("it was published %d times and ended %+v", tried, end)
	}
}

// ForgetThread deletes the files of a conversation, but none of another one, and not the target of a link.
func TestAForgottenConversation(t *testing.T) {
	t.Parallel()
	s := newStage(t, open(), nil)
	other, err := s.StartThread(t.Context(), s.controls)
	if err != nil {
		t.Fatal(err)
	}
	history := func() (found []string) {
		found, err := filepath.Glob(filepath.Join(s.setup.Home.Dir, "claude", "projects", "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	s.turn("MOCK_REPLY[one]")
	started, err := s.StartTurn(t.Context(),
		runtime.StartTurn{ThreadID: other.ID, Input: runtimetest.Text("MOCK_HOLD[two]")})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AwaitHeld(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	forgetter := s.Adapter.(runtime.Forgetter)
	if _, err := forgetter.ForgetThread(t.Context(), runtime.ResumeThread{ThreadID: other.ID}); !errors.Is(err,
		runtime.ErrTurnActive) {
		t.Errorf("one in a turn: %v", err)
	}
	outside := filepath.Join(t.TempDir(), s.thread+".jsonl")
	link := filepath.Join(s.setup.Home.Dir, "claude", "projects", "link")
	if err := errors.Join(os.WriteFile(outside, nil, 0o600), os.Symlink(filepath.Dir(outside), link)); err != nil {
		t.Fatal(err)
	}
	files, err := forgetter.ForgetThread(t.Context(), runtime.ResumeThread{ThreadID: s.thread})
	if err != nil || files == 0 {
		t.Errorf("%d files went, %v", files, err)
	}
	s.Release("two")
	s.End(t, started.TurnID)
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("what a link leads to: %v", err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	for _, path := range history() {
		if strings.Contains(path, s.thread) {
			t.Errorf("%s is left", path)
		}
	}
	if _, err := s.ResumeThread(t.Context(), runtime.ResumeThread{ThreadID: other.ID}); err != nil {
		t.Errorf("the other conversation: %v", err)
	}
	s.Kill(t, other.ID)
	s.Exited(t, other.ID)
	if _, err := s.ResumeThread(t.Context(), runtime.ResumeThread{ThreadID: s.thread}); !errors.Is(err,
		runtime.ErrThreadNotFound) {
		t.Errorf("the forgotten one: %v", err)
	}
	if files, err := forgetter.ForgetThread(t.Context(), runtime.ResumeThread{ThreadID: s.thread}); err != nil ||
		files != 0 {
		t.Errorf("forgotten again: %d files, %v", files, err)
	}
}

// No file in the folder or in the home of Claude Code reaches its model or starts a program. RA-16
func TestClaudeCodeReadsOnlyAllowedSources(t *testing.T) {
	t.Parallel()
	s := newStage(t, open(), func(g *rig) {
		for name, text := range map[string]string{
			filepath.Join(g.dir, "CLAUDE.md"): "mark of the project", filepath.Join(g.dir, "AGENTS.md"): "mark of the project",
			filepath.Join(g.setup.Home.Dir, "claude", "CLAUDE.md"): "mark of the home",
			filepath.Join(g.dir, ".mcp.json"): `{"mcpServers":{"own":{"command":"touch","args":["` +
				filepath.Join(g.dir, "server") + `"]}}}`, filepath.Join(g.dir, ".claude",
				"settings.json"): `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch ` + filepath.Join(g.dir,
				"hook") + `"}]}]}}`,
			filepath.Join(g.setup.Home.Dir, "claude",
				"settings.json"): `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch ` + filepath.Join(g.dir,
				"hook") + `"}]}]}}`,
			filepath.Join(g.dir, ".claude", "skills", "own",
				"SKILL.md"): "---\nname: own\ndescription: mark of the project\n---\n",
			filepath.Join(g.dir, ".claude", "agents",
				"own.md"): "---\nname: own\ndescription: mark of the project\n---\n",
		} {
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	})
	if end, _ := s.turn("MOCK_REPLY[x]"); end.Status != runtime.TurnDone {
		t.Errorf("it ended %+v", end)
	}
	for _, request := range s.model.Requests() {
		for _, mark := range []string{"mark of the project", "mark of the home"} {
			if strings.Contains(string(request.Body), mark) {
				t.Errorf("the model got the %s", mark)
			}
		}
	}
	if s.made("server") || s.made("hook") {
		t.Errorf("the folder started a server: %t, a hook: %t", s.made("server"), s.made("hook"))
	}
}

// await waits for a file in the folder of the conversation.
func (s *stage) await(name string) {
	s.t.Helper()
	polls := time.NewTicker(5 * time.Millisecond)
	defer polls.Stop()
	for !s.made(name) {
		select {
		case <-polls.C:
		case <-s.t.Context().Done():
			s.t.Fatal("there is no " + name)
		}
	}
}
