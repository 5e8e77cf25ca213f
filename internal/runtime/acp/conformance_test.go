package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"harness/internal/runtime"
	"harness/internal/runtime/acp"
	"harness/internal/runtime/process"
	"harness/internal/runtime/stdio"
	"harness/tests/agenttest"
	"harness/tests/codexschema"
	"harness/tests/codextest"
	"harness/tests/mockmodel"
	"harness/tests/runtimetest"
)

// The first argument makes the test binary a shim; the shim's folder follows. The variable makes it an agent without
// output.
const (
	runAsShim = "test-shim"
	runAsHung = "HARNESS_TEST_HUNG_AGENT"
)

func TestMain(m *testing.M) {
	if runtimetest.PlayProxy() {
		return
	}
	if runtimetest.PlayShim(runAsShim) {
		return
	}
	if mode := os.Getenv(runAsFake); mode != "" {
		fakeAgent(mode)
		return
	}
	if os.Getenv(runAsHung) != "" {
		select {}
	}
	goleak.VerifyTestMain(m)
}

// site is the place where servers drive real agents, one after another.
type site struct {
	model   *mockmodel.Server
	options acp.Options
	dir     string
	home    string
}

func newSite(t *testing.T, model *mockmodel.Server, profile acp.Profile, shims bool, env ...string) *site {
	t.Helper()
	home := t.TempDir()
	s := &site{model: model, dir: t.TempDir(), home: home}
	s.options = acp.Options{Profile: profile, Setup: stdio.Setup{
		Launch: stdio.Launch{Name: profile.Name, Marker: process.Marker(home, profile.Name),
			Env:      append([]string{"HOME=" + home}, env...),
			Inherits: func(name string) bool { return name == "PATH" || name == "TMPDIR" },
			Logger:   zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)},
		Supervise: stdio.Options{BackoffMin: 10 * time.Millisecond, StartTimeout: patience},
	}}
	if launch := &s.options.Setup.Launch; shims {
		launch.Shims, launch.Detach, s.options.Setup.Supervise.KeepOnStop = runtimetest.Shims(t, runAsShim), true, true
	}
	return s
}

// patience bounds every wait; the machine may be busy.
const patience = runtimetest.Patience

func (s *site) start(t *testing.T, store interface {
	Sink(runtime.Batch)
	Resume(context.Context, string) (runtime.Resumption, error)
}) *runtimetest.Agent {
	t.Helper()
	options := s.options
	options.Setup.Supervise.Sink, options.Setup.Supervise.Resume = store.Sink, store.Resume
	r := acp.New(options)
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop := func(t *testing.T) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	t.Cleanup(func() { stop(t) })
	agent := &runtimetest.Agent{Adapter: r, Dir: s.dir, Release: s.model.Release, Prompted: s.model.Asked, AwaitHeld: s.model.WaitHeld,
		Kill: func(t *testing.T, _ string) {
			if err := syscall.Kill(r.Status().PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}}
	if options.Setup.Launch.Shims != nil {
		agent.Leave = stop
		agent.Next = func(t *testing.T) *runtimetest.Agent { return s.start(t, store) }
	}
	return agent
}

// loggedOut is start for an agent that has no login and refuses to open a conversation; a key logs it in.
func (s *site) loggedOut(t *testing.T, store *runtimetest.Store, key string) *runtimetest.Agent {
	t.Helper()
	agent := s.start(t, store)
	agent.Key.Key = key
	agent.NeedsLogin = func(ctx context.Context) error {
		_, err := agent.StartThread(ctx, runtime.StartThread{Cwd: agent.Dir})
		return err
	}
	return agent
}

// shared is one process for several tests. Each test gets the events of its conversations.
type shared struct {
	*runtimetest.Agent
	mu     sync.Mutex
	stores map[string]*runtimetest.Store
}

func (s *shared) Sink(batch runtime.Batch) {
	s.mu.Lock()
	var store *runtimetest.Store
	for _, signal := range batch.Signals {
		if store == nil {
			store = s.stores[signal.ThreadID]
		}
	}
	s.mu.Unlock()
	if store != nil {
		batch.Offset = 0 // a store gets only some lines of the process
		store.Sink(batch)
	} else if batch.Stored != nil {
		batch.Stored()
	}
}

func (s *shared) Resume(context.Context, string) (runtime.Resumption, error) {
	return runtime.Resumption{}, nil
}

// visitor is the view of one test on the shared agent.
type visitor struct {
	runtimetest.Adapter
	shared *shared
	store  *runtimetest.Store
}

func (v *visitor) StartThread(ctx context.Context, in runtime.StartThread) (runtime.Thread, error) {
	thread, err := v.Adapter.StartThread(ctx, in)
	v.shared.mu.Lock()
	defer v.shared.mu.Unlock()
	v.shared.stores[thread.ID] = v.store
	return thread, err
}

// target is a real agent, with one process for all tests except those that end it.
func target(t *testing.T, script runtimetest.Script, new func(t *testing.T) *site) runtimetest.Target {
	t.Helper()
	site := new(t)
	all := &shared{stores: map[string]*runtimetest.Store{}}
	all.Agent = site.start(t, all)
	broken := func(change func(*acp.Options)) func(*testing.T, *runtimetest.Store) *runtimetest.Agent {
		return func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
			s := new(t)
			s.options.Setup.Supervise.StartTimeout = 200 * time.Millisecond
			change(&s.options)
			return s.start(t, store)
		}
	}
	return runtimetest.Target{
		Script: script, Dear: true, Check: codexschema.Published,
		New: func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
			if runtimetest.Own(t) {
				return new(t).start(t, store)
			}
			agent := *all.Agent
			agent.Adapter, agent.Leave, agent.Next = &visitor{all.Adapter, all, store}, nil, nil
			return &agent
		},
		Hanging: broken(func(o *acp.Options) {
			o.Bin = runtimetest.Executable(t)
			o.Setup.Launch.Env = append(o.Setup.Launch.Env, runAsHung+"=1")
		}),
		Missing: broken(func(o *acp.Options) { o.Bin = filepath.Join(t.TempDir(), "agent") }),
	}
}

// script returns the model's script, with the names of an agent's tools.
func script() runtimetest.Script {
	return runtimetest.Script{
		Reply: func(text string) string { return "MOCK_REPLY[" + text + "]" }, Hold: func(name string) string {
			return "MOCK_HOLD[" + name + "]"
		},
		Flood:   func(deltas int) string { return fmt.Sprintf("MOCK_SLOW[%d,0]", deltas) },
		Fail:    func(status int) string { return fmt.Sprintf("MOCK_HTTP_%d", status) },
		Command: func(command string) string { return "MOCK_CMD[" + command + "]" },
	}
}

// The pinned Gemini CLI keeps the promises of every adapter, behind a shim and as a child.
func TestGeminiConforms(t *testing.T) {
	t.Parallel()
	for name, shims := range map[string]bool{"behind shims": true, "as children": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := mockmodel.Start(t)
			made := func(t *testing.T, env ...string) *site {
				s := newSite(t, model, acp.Gemini(), shims, env...)
				s.options.Bin = agenttest.Binary(t, "gemini")
				return s
			}
			loggedIn := func(t *testing.T) *site {
				return made(t, "GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL="+model.Root())
			}
			tried := target(t, script(), loggedIn)
			if !shims { // the source of the lines does not affect these
				tried.Script.Flood = nil
				runtimetest.Run(t, tried)
				return
			}
			tried.LoggedOut = func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
				key := "key-" + uuid.NewString()
				s := made(t, "GOOGLE_GEMINI_BASE_URL="+runtimetest.Locked(t, model.Root(), key))
				plant(t, filepath.Join(s.home, ".gemini", "settings.json"),
					`{"security":{"auth":{"selectedType":"gemini-api-key"}}}`) // otherwise the agent may not request a key
				return s.loggedOut(t, store, key)
			}
			tried.Proxied = func(t *testing.T, store *runtimetest.Store, proxy *runtimetest.Proxy) *runtimetest.Agent {
				s := loggedIn(t)
				s.options.Bin, proxy.Only = proxy.Program(t, s.options.Bin), "agent_message_chunk"
				return s.start(t, store)
			}
			runtimetest.Run(t, tried)
		})
	}
}

// bridged is an agent behind a bridge of the protocol, with its start and the files it reads without a request.
type bridged struct {
	site         func(*testing.T, *mockmodel.Server, bool) *site
	home, folder string
	reads        string
	// loggedOut starts one without a login, with a model whose server accepts the key.
	loggedOut func(t *testing.T, model *mockmodel.Server, store *runtimetest.Store, locked, key string) *runtimetest.Agent
}

// The bridges of Claude Code and codex, and OpenCode's own server of the protocol, keep the promises of every
// adapter. The real agents run behind them. The transport reads the lines; the Gemini tests cover it. Each agent
// reports the sources it reads without a request. RA-16
func TestBridgesConform(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]bridged{
		"claude-acp": {claudeBridge, ".claude/CLAUDE.md", "CLAUDE.md", "home CLAUDE.md, folder CLAUDE.md",
			claudeLoggedOut},
		"codex-acp": {codexBridge, ".codex/AGENTS.md", "AGENTS.md", "home AGENTS.md, folder AGENTS.md",
			codexLoggedOut},
		"opencode-acp": {openCode, ".config/opencode/AGENTS.md", "AGENTS.md", "home AGENTS.md",
			openCodeLoggedOut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model, words := mockmodel.Start(t), script()
			switch name {
			case "codex-acp": // in this mode codex requests approval before a command leaves its sandbox
				words.Command = func(command string) string { return "MOCK_ESC[" + command + "]" }
			case "opencode-acp":
				words.Ask = "MOCK_ASK" // for a tool that codex has elsewhere, but not over this protocol
			}
			planted := func(t *testing.T) *site {
				s := one.site(t, model, true)
				plant(t, filepath.Join(s.home, one.home), "mark of the home")
				plant(t, filepath.Join(s.dir, one.folder), "mark of the folder")
				return s
			}
			t.Run("promises", func(t *testing.T) {
				tried := target(t, words, planted)
				tried.LoggedOut = func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
					key := "sk-" + uuid.NewString()
					return one.loggedOut(t, model, store, runtimetest.Locked(t, model.Root(), key), key)
				}
				runtimetest.Run(t, tried)
			})
			polled := planted(t)
			found, err := acp.New(polled.options).Sources("", polled.dir, "")
			if err != nil {
				t.Fatal(err)
			}
			var listed []string
			for _, source := range found {
				if source.Kind == runtime.SourceInstructions && len(source.SHA256) == 64 {
					listed = append(listed, source.Scope+" "+filepath.Base(source.Path))
				}
			}
			var read []string
			sent := string(bodies(model))
			for scope, file := range map[string]string{"home": one.home, "folder": one.folder} {
				if strings.Contains(sent, "mark of the "+scope) {
					read = append(read, scope+" "+filepath.Base(file))
				}
			}
			slices.Sort(read)
			slices.Reverse(read) // the home first
			if got := strings.Join(listed, ", "); got != one.reads || got != strings.Join(read, ", ") {
				t.Errorf("it is said to read %s and has read %s; want %s", got, strings.Join(read, ", "), one.reads)
			}
		})
	}
}

// The bridge of Claude Code asks a user with a form.
func TestABridgeAsks(t *testing.T) {
	t.Parallel()
	store, model := runtimetest.NewStore(), mockmodel.Start(t)
	agent := claudeBridge(t, model, false).start(t, store)
	thread, err := agent.StartThread(t.Context(), runtime.StartThread{Cwd: agent.Dir, ApprovalPolicy: "untrusted"})
	if err != nil {
		t.Fatal(err)
	}
	answerQuestion(t, agent, store, model, func(text string) string {
		started, err := agent.StartTurn(t.Context(), runtime.StartTurn{ThreadID: thread.ID, Input: runtimetest.Text(text)})
		if err != nil {
			t.Fatal(err)
		}
		return started.TurnID
	})
}

// answerQuestion checks that an agent asks a user with a form and that the model receives the answer.
func answerQuestion(t *testing.T, agent *runtimetest.Agent, store *runtimetest.Store, model *mockmodel.Server,
	say func(string) string) {
	t.Helper()
	turn := say("MOCK_ASK")
	asked := store.Asked(t, turn, runtime.RequestToolInput)
	var form struct {
		Questions []struct{ ID, Question string }
	}
	if err := json.Unmarshal(asked.Params, &form); err != nil || len(form.Questions) == 0 ||
		form.Questions[0].Question == "" {
		t.Fatalf("it asks %s, %v", asked.Params, err)
	}
	answers, err := json.Marshal(map[string]any{form.Questions[0].ID: map[string]any{"answers": []string{"B"}}})
	if err != nil {
		t.Fatal(err)
	}
	reply := runtime.Reply{Decision: "accept", Answers: answers}
	if err := agent.CheckReply(runtimetest.Ref(asked), reply); err != nil {
		t.Fatal(err)
	}
	if err := agent.Answer(t.Context(), runtimetest.Ref(asked), reply); err != nil {
		t.Fatal(err)
	}
	if end := store.End(t, turn); end.Status != runtime.TurnDone {
		t.Errorf("the turn that asked ended %+v", end)
	}
	if !slices.ContainsFunc(model.Outputs(), func(o mockmodel.Output) bool {
		return strings.Contains(o.Text, `"B"`) || strings.Contains(o.Text, "=B")
	}) {
		t.Errorf("the model received %v", model.Outputs())
	}
}

func claudeBridge(t *testing.T, model *mockmodel.Server, shims bool) *site {
	return claudeBridgeAt(t, model, shims, model.Root(), "ANTHROPIC_API_KEY=test")
}

func claudeBridgeAt(t *testing.T, model *mockmodel.Server, shims bool, root string, env ...string) *site {
	s := newSite(t, model, acp.ClaudeBridge(), shims, append(env, "ANTHROPIC_BASE_URL="+root,
		"CLAUDE_CODE_EXECUTABLE="+agenttest.Binary(t, "claude"))...)
	s.options.Bin = agenttest.Binary(t, "claude-acp")
	return s
}

// claudeLoggedOut opens conversations; their turns report the missing login.
func claudeLoggedOut(t *testing.T, model *mockmodel.Server, store *runtimetest.Store, locked, key string,
) *runtimetest.Agent {
	agent := claudeBridgeAt(t, model, true, locked).loggedOut(t, store, key)
	agent.NeedsLogin = func(ctx context.Context) error {
		thread, err := agent.StartThread(ctx, runtime.StartThread{Cwd: agent.Dir})
		if err != nil {
			return err
		}
		started, err := agent.StartTurn(ctx, runtime.StartTurn{ThreadID: thread.ID, Input: runtimetest.Text("MOCK_REPLY[no]")})
		if err != nil {
			return err
		}
		return store.End(t, started.TurnID).Kind
	}
	return agent
}

func codexLoggedOut(t *testing.T, model *mockmodel.Server, store *runtimetest.Store, locked, key string,
) *runtimetest.Agent {
	return codexBridgeAt(t, model, true, codextest.Home(t, locked+"/v1", codextest.NeedsLogin())).loggedOut(t, store, key)
}

// openCodeLoggedOut cannot detect a missing login, because its configuration may name a key.
func openCodeLoggedOut(t *testing.T, model *mockmodel.Server, store *runtimetest.Store, locked, key string,
) *runtimetest.Agent {
	agent := openCodeAt(t, model, true, `"baseURL":"`+locked+`/v1"`).start(t, store)
	agent.PollsLate, agent.Key.Key = true, key
	agent.Kill = nil // its process restarted with the key, and would do so again
	return agent
}

func codexBridge(t *testing.T, model *mockmodel.Server, shims bool) *site {
	return codexBridgeAt(t, model, shims, codextest.Home(t, model.URL()), "OPENAI_API_KEY=test",
		`DEFAULT_AUTH_REQUEST={"methodId":"api-key"}`)
}

func codexBridgeAt(t *testing.T, model *mockmodel.Server, shims bool, home string, env ...string) *site {
	s := newSite(t, model, acp.CodexBridge(), shims,
		append(env, "CODEX_HOME="+home, "CODEX_PATH="+codextest.Binary(t, codextest.Default))...)
	s.options.Bin = agenttest.Binary(t, "codex-acp")
	if err := os.Symlink(home, filepath.Join(s.home, ".codex")); err != nil {
		t.Fatal(err)
	}
	return s
}

func openCode(t *testing.T, model *mockmodel.Server, shims bool) *site {
	return openCodeAt(t, model, shims, `"baseURL":"`+model.URL()+`","apiKey":"test"`)
}

func openCodeAt(t *testing.T, model *mockmodel.Server, shims bool, provider string) *site {
	s := newSite(t, model, acp.OpenCode(), shims,
		`OPENCODE_CONFIG_CONTENT={"enabled_providers":["mock"],"model":"mock/mock-model","small_model":"mock/mock-model",`+
			`"share":"disabled","snapshot":false,"lsp":false,"formatter":false,"provider":{"mock":{"npm":"@ai-sdk/openai-compatible","name":"Mock",`+
			`"options":{`+provider+`},"models":{"mock-model":{"name":"Mock","tool_call":true,"limit":{"context":100000,"output":8000}}}}}}`,
		"npm_config_registry=http://127.0.0.1:9")
	s.options.Bin = agenttest.Binary(t, "opencode")
	return s
}

// Gemini replays earlier turns when it loads a conversation. They are not part of the next turn.
func TestLoadedHistoryIsNotRepeated(t *testing.T) {
	t.Parallel()
	store, model := runtimetest.NewStore(), mockmodel.Start(t)
	s := newSite(t, model, acp.Gemini(), false, "GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL="+model.Root())
	s.options.Bin = agenttest.Binary(t, "gemini")
	agent := s.start(t, store)
	thread, err := agent.StartThread(t.Context(), runtime.StartThread{Cwd: s.dir})
	if err != nil {
		t.Fatal(err)
	}
	say := func(text string) (said string) {
		started, err := agent.StartTurn(t.Context(),
			runtime.StartTurn{ThreadID: thread.ID, Input: runtimetest.Text("MOCK_REPLY[" + text + "]")})
		if err != nil {
			t.Fatal(err)
		}
		store.End(t, started.TurnID)
		for _, signal := range store.Signals() {
			if change, is := signal.Change.(runtime.ItemChanged); is && change.Done && change.TurnID == started.TurnID &&
				change.Item.Role != "user" {
				said += change.Item.Content
			}
		}
		return said
	}
	for _, text := range []string{"one", "two", "three"} {
		say(text)
	}
	agent.Kill(t, thread.ID)
	store.Exited(t, "")
	if said := say("four"); said != "four" {
		t.Errorf("it said %q", said)
	}
	requests := model.Requests()
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "MOCK_REPLY[one]") {
		t.Errorf("the model did not get the earlier turns: %s", last)
	}
}
