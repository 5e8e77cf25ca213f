package clients

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"harness/tests/runtimetest/scripted"

	"harness/internal/platform/database"
	"harness/tests/codextest"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

func readAll(t *testing.T, body io.ReadCloser) []byte {
	t.Helper()
	defer body.Close()
	raw, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// rpcServer starts a server with the scripted agent as its default, codex and the other named runtimes.
func rpcServer(t *testing.T, engine database.Engine, env ...string) *programtest.Server {
	t.Helper()
	s := programtest.New(t, programtest.WithRaceDetector(database.SQLite), programtest.WithScripted(), programtest.WithEngine(engine),
		programtest.WithEnv(append([]string{"HARNESS_RUNTIMES=scripted,codex,claude",
			"CLAUDE_BIN=/nowhere/claude", "DEFAULT_APPROVAL_POLICY=untrusted", "DEFAULT_NETWORK_ACCESS=enabled"}, env...)...))
	return s.Start()
}

// jsonAs converts a value through JSON.
func jsonAs[T any](t *testing.T, value any) (out T) {
	t.Helper()
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

type registryReply struct {
	SchemaVersion, GeneratedAt, DefaultRuntime string
	Routing                                    struct {
		AgentTypeField, DefaultAgentType string
		RequiredOnMethods                []string
	}
	Runtimes []struct {
		ID, DisplayName, Status string
		StatusReason            *string
		Activation              bool `json:"requiresWorkspaceActivationOnResume"`
		Resolution              bool `json:"requiresSessionResolutionOnNewSession"`
		Methods                 map[string]string
	}
}

// TestTheRuntimeRegistry: TE-08, R1 to R7, R13 to R17 on one server of each engine.
func TestTheRuntimeRegistry(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			const secret = "sk-planted-in-the-registry"
			server := rpcServer(t, engine, "OPENAI_API_KEY="+secret, "HARNESS_RUNTIME_STATUS=codex=preview")
			server.AwaitRuntime()
			server.Eventually("codex is ready, too", func() bool {
				return programtest.Text(server.Want(http.StatusOK, http.MethodGet, "/api/runtimes/codex", nil), "state") == "ready"
			})
			socket := dialRPC(server, t, "/rpc", nil)
			answer := socket.ask("initialize", programtest.Object{"protocolVersion": "1.0", "clientInfo": programtest.Object{"name": "test"},
				"unknown": programtest.Object{"a": 1}})
			capabilities := answer.result()["capabilities"].(programtest.Object)
			registry := jsonAs[registryReply](t, capabilities["runtimeRegistry"])
			var ids []string
			for _, one := range registry.Runtimes {
				ids = append(ids, one.ID)
			}
			t.Run("R1 R2 R4 the answer follows its schema", func(t *testing.T) {
				checkSchema(t, server, "InitializeResult", answer.Result)
			})
			t.Run("R2 R3 routing", func(t *testing.T) {
				if registry.SchemaVersion != "1.0" || registry.DefaultRuntime != "scripted" ||
					registry.Routing.DefaultAgentType != "scripted" ||
					registry.Routing.AgentTypeField != "agent_type" || !slices.Equal(registry.Routing.RequiredOnMethods,
					[]string{"session/start", "session/send", "session/stop", "session/input", "session/respond"}) {
					t.Errorf("%+v", registry)
				}
			})
			t.Run("R6 it is what the adapters are", func(t *testing.T) {
				if !slices.Equal(ids, []string{"scripted", "codex", "claude"}) ||
					fmt.Sprint(capabilities["supportedAgents"]) != fmt.Sprint(ids) {
					t.Errorf("runtimes %v, agents %v", ids, capabilities["supportedAgents"])
				}
			})
			t.Run("R7 what Claude needs", func(t *testing.T) {
				for _, one := range registry.Runtimes {
					if is := one.ID == "claude"; one.Activation != is || one.Resolution != is {
						t.Errorf("%+v", one)
					}
				}
				if claude := registry.Runtimes[2]; claude.Status != "disabled" || claude.StatusReason == nil ||
					strings.Contains(*claude.StatusReason, "/nowhere") {
					t.Errorf("a missing program is %+v", claude)
				}
				if registry.Runtimes[1].Status != "preview" || registry.Runtimes[0].Status != "active" {
					t.Errorf("%+v", registry.Runtimes)
				}
			})
			t.Run("R13 no secret", func(t *testing.T) {
				for _, hidden := range []string{secret, scripted.PlantedToken, server.DataDir, codextest.Binary(t, codextest.Default)} {
					if strings.Contains(answer.raw, hidden) {
						t.Errorf("it reveals %s", hidden)
					}
				}
			})
			t.Run("R15 made when it changed", func(t *testing.T) {
				again := dialRPC(server, t, "/ws", nil).ask("initialize", programtest.Object{})
				var first, second struct {
					Capabilities struct{ RuntimeRegistry json.RawMessage }
				}
				if json.Unmarshal(answer.Result, &first) != nil || json.Unmarshal(again.Result, &second) != nil ||
					string(first.Capabilities.RuntimeRegistry) != string(second.Capabilities.RuntimeRegistry) {
					t.Errorf("%s\nand then\n%s", first.Capabilities.RuntimeRegistry, second.Capabilities.RuntimeRegistry)
				}
			})
			t.Run("R5 R16 the document", func(t *testing.T) { checkDocument(t, server, socket, registry, ids) })
			t.Run("R18 codes", func(t *testing.T) { checkCodes(t, socket, socket.workspaceFor(server.Workspace)) })
			t.Run("versions", func(t *testing.T) {
				refused := dialRPC(server, t, "/rpc", nil).refused(-32602, "initialize", programtest.Object{"protocolVersion": "99.0"})
				if fmt.Sprint(refused.Data["supported"]) != "[1.0]" {
					t.Errorf("%v", refused)
				}
				socket.refused(-32602, "initialize", programtest.Object{"protocolVersion": 7})
				// A second initialize gets the same response and changes nothing: the socket keeps its identity and still gets
				// all notifications.
				again := socket.call("initialize", programtest.Object{"capabilities": programtest.Object{"notifications": []any{}, "cursor": true}})
				if programtest.Text(again, "clientId") != programtest.Text(answer.result(), "clientId") {
					t.Errorf("the second is answered %v, the first was %s", again, answer.raw)
				}
				socket.call("workspace/remove", programtest.Object{"workspace_id": socket.workspaceFor(server.Workspace)})
				if removed := socket.waitFor("event/workspace_removed", nil); removed["pos"] != nil {
					t.Errorf("%v", removed)
				}
			})
		})
	}
}

// checkDocument: the method and GET return the same document, every reference resolves, and it has every method that
// the registry names (R5, R16).
func checkDocument(t *testing.T, server *programtest.Server, socket *rpcSocket, registry registryReply, ids []string) {
	t.Helper()
	document := socket.ask("rpc.discover", nil).Result
	status, body := server.Ask("GET", "/rpc/openrpc.json", nil)
	if status != 200 || body != string(document) {
		t.Errorf("GET is answered %d, and differs: %v", status, body != string(document))
	}
	whole := jsonAs[programtest.Object](t, document)
	methods := map[string]programtest.Object{}
	for _, one := range whole["methods"].([]any) {
		methods[programtest.Text(one, "name")] = one.(programtest.Object)
	}
	for _, one := range registry.Runtimes {
		if len(one.Methods) != 10 {
			t.Errorf("%s has the methods %v", one.ID, one.Methods)
		}
		for use, name := range one.Methods {
			if methods[name] == nil {
				t.Errorf("%s of %s is %s, which is no method", use, one.ID, name)
			}
		}
	}
	for name, method := range methods {
		for _, p := range method["params"].([]any) {
			if programtest.Text(p, "name") == "agent_type" && fmt.Sprint(p.(programtest.Object)["schema"].(programtest.Object)["enum"]) != fmt.Sprint(ids) {
				t.Errorf("agent_type of %s is one of %v", name, p)
			}
		}
	}
	if references := walkReferences(whole, whole, t); references < 50 {
		t.Errorf("only %d references were looked at", references)
	}
}

// walkReferences counts the references of a document, and reports those that do not resolve.
func walkReferences(whole, at any, t *testing.T) (seen int) {
	t.Helper()
	switch value := at.(type) {
	case programtest.Object:
		if to, is := value["$ref"].(string); is {
			seen++
			var found = whole
			for _, step := range strings.Split(strings.TrimPrefix(to, "#/"), "/") {
				members, _ := found.(programtest.Object)
				found = members[step]
			}
			if found == nil {
				t.Errorf("%s leads nowhere", to)
			}
		}
		for _, inner := range value {
			seen += walkReferences(whole, inner, t)
		}
	case []any:
		for _, inner := range value {
			seen += walkReferences(whole, inner, t)
		}
	}
	return seen
}
