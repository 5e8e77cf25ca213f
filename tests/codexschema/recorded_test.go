package codexschema_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/tests/codexschema"
)

// Everything that the adapters make of recordings of real agents fits the schemas of codex's clients.
func TestRecordedFramesFitTheSchemas(t *testing.T) { // RA-32
	t.Parallel()
	for name, pattern := range map[string]string{
		"claude": "claude/testdata/*.golden.jsonl", "acp": "acp/testdata/*.golden", "opencode": "opencode/testdata/golden/*.jsonl",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var signals []runtime.Signal
			files, err := filepath.Glob(filepath.Join("../../internal/runtime", pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				lines, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for line := range bytes.Lines(lines) {
					line = bytes.TrimSuffix(line, []byte("\n"))
					if method, at, is := wire.LayoutOf(line); is { // the others are titles
						signals = append(signals, wire.Read(line, method, at))
					}
				}
			}
			if len(signals) < 300 {
				t.Errorf("only %d frames", len(signals))
			}
			codexschema.Published(t, signals)
		})
	}
}

// The kit refuses a frame without a member that a client needs, and a method that no client knows.
func TestSchemasRefuse(t *testing.T) {
	t.Parallel()
	for _, version := range codexschema.Versions() {
		schema := codexschema.Of(t, version)
		for _, frame := range []string{
			`{"id":1,"method":"item/commandExecution/requestApproval","params":{"threadId":"t","turnId":"u","itemId":"i"}}`,
			`{"id":1,"method":"item/tool/requestApproval","params":{}}`,
			`{"method":"item/tool/requestApproval","params":{}}`,
			`{"method":"serverRequest/resolved","params":{"threadId":"t"}}`,
			`{`,
		} {
			if schema.Frame([]byte(frame)) == nil {
				t.Errorf("codex %s allows %s", version, frame)
			}
		}
		if err := schema.Frame([]byte(`{"method":"serverRequest/resolved","params":{"threadId":"t","requestId":1}}`)); err != nil {
			t.Error(err)
		}
	}
}
