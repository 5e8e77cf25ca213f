package tasks_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"harness/internal/content/artifact"
	"harness/internal/lib/jcs"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session/manager"
	"harness/internal/services/tasks"
	"harness/tests/dbtest"
	"harness/tests/sessiontest"
)

// given is a model.input event as clients read it.
type given struct {
	Ref        *artifact.Ref `json:"input_ref"`
	Hash       string        `json:"input_hash"`
	Visibility string        `json:"input_visibility"`
	Sources    *artifact.Ref `json:"implicit_sources_ref"`
	Window     struct {
		Strategy string
		Omitted  []string `json:"omitted_turns"`
	} `json:"context_window"`
	Reconstructed bool
}

func inputs(t *testing.T, events []tasks.Event, task string) (all []given) {
	t.Helper()
	for _, e := range events {
		if e.Type != tasks.ModelInput || e.Trace.TaskID != task {
			continue
		}
		var one given
		if err := json.Unmarshal(e.Payload, &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// keeping returns a task service that stores the inputs of runtimes, and its artifacts.
func keeping(t *testing.T, engine database.Engine) (*site, *artifact.Store) {
	t.Helper()
	var store *artifact.Store
	db := dbtest.Open(t, engine)
	s := &site{t: t, Site: sessiontest.Open(t, db, func(o *manager.Options) {
		store = artifact.New(artifact.Options{DB: db, Journal: o.Journal, Dir: t.TempDir()})
		o.Keep = func(ctx context.Context, sessionID, name, contentType string, content []byte) (json.RawMessage, error) {
			ref, err := store.Put(ctx, sessionID, name, contentType, content)
			if err != nil {
				return nil, err
			}
			return json.Marshal(ref)
		}
	})}
	s.tasks = s.service(func(o *tasks.Options) {
		o.Artifacts = store
		o.Tools = func() []tasks.Tool { return []tasks.Tool{{Name: "workspace.read", SchemaHash: "sha256:aa"}} }
	})
	s.Start(s.tasks)
	return s, store
}

// content reads an artifact and checks its hash.
func content(t *testing.T, store *artifact.Store, ref *artifact.Ref) []byte {
	t.Helper()
	if ref == nil {
		t.Fatal("there is no reference")
	}
	_, file, err := store.Open(t.Context(), ref.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	raw, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(raw)
	if got := "sha256:" + hex.EncodeToString(sum[:]); got != ref.Hash {
		t.Errorf("%s has the hash %s, said is %s", ref.Name, got, ref.Hash)
	}
	return raw
}

// EV-15, EV-16: an event refers to the complete input of a task's runtime, in canonical form, by a reproducible hash:
// messages, tools, configuration, window. It also refers to what the agent reads on its own.
func TestModelInputIsStored(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		s, store := keeping(t, engine)
		session := s.NewSession()
		long := strings.Repeat("x", 100_000)
		s.submit(session, "one", "REPLY[yes] "+long)
		s.over(session, "one")
		got := inputs(t, s.events(session), "one")
		if len(got) != 1 {
			t.Fatalf("there are %d inputs", len(got))
		}
		raw := content(t, store, got[0].Ref)
		canonical, err := jcs.Transform(raw)
		if err != nil || string(canonical) != string(raw) || got[0].Hash != got[0].Ref.Hash ||
			got[0].Visibility != "prompt" || got[0].Window.Strategy != "none" || got[0].Reconstructed {
			t.Errorf("the input is %+v (%v)", got[0], err)
		}
		var kept struct {
			Messages []tasks.Message
			Tools    []tasks.Tool   `json:"tool_manifest"`
			Config   map[string]any `json:"runtime_config"`
			Window   map[string]any `json:"context_window"`
		}
		if err := json.Unmarshal(raw, &kept); err != nil {
			t.Fatal(err)
		}
		if len(kept.Messages) != 1 || !strings.Contains(string(kept.Messages[0].Content[0]), long) ||
			len(kept.Tools) != 1 || kept.Tools[0].Name != "workspace.read" || kept.Config["runtime"] != "scripted" ||
			kept.Config["filesystem_sandbox"] != "danger-full-access" || kept.Window["strategy"] != "none" {
			t.Errorf("kept is %.500s", raw)
		}
		var sources struct {
			Implicit string
			Reason   string
			Sources  []runtime.Source
		}
		if err := json.Unmarshal(content(t, store, got[0].Sources), &sources); err != nil || sources.Sources == nil ||
			sources.Implicit == "" && sources.Reason == "" {
			t.Errorf("of what is read by itself is said %+v, %v", sources, err)
		}
		s.submit(session, "two", "REPLY[yes] "+long)
		s.over(session, "two")
		if again := inputs(t, s.events(session), "two"); len(again) != 1 || again[0].Hash != got[0].Hash {
			t.Errorf("the same input has the hashes %s and %+v", got[0].Hash, again)
		}
	})
}

// SE-02, SE-04: a task runs in a session after its runtime lost the conversation. Its events report that the history
// was resent, and refer to it. The same holds for a turn that another client begins.
func TestEventsReportARestoredConversation(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		s, store := keeping(t, engine)
		id := s.NewSession()
		s.submit(id, "one", "REPLY[the word is PERIWINKLE]")
		s.over(id, "one")
		s.Runtime.Lose(id)
		s.submit(id, "two", "REPLY[on]")
		if two := s.over(id, "two"); two.Status != tasks.Completed {
			t.Fatalf("it ended %+v", two.Outcome)
		}
		got := inputs(t, s.events(id), "two")
		if len(got) != 2 || got[0].Reconstructed || !got[1].Reconstructed || got[1].Hash != got[1].Ref.Hash {
			t.Fatalf("inputs are %+v", got)
		}
		if again := string(content(t, store, got[1].Ref)); !strings.Contains(again, "PERIWINKLE") {
			t.Errorf("the input is %s", again)
		}
		s.Runtime.Lose(id)
		turn := s.Say(id, "REPLY[by another client]")
		s.over(id, turn)
		if got := inputs(t, s.events(id), turn); len(got) != 2 || !got[1].Reconstructed {
			t.Errorf("the inputs of another client's turn are %+v", got)
		}
	})
}
