package mockmodel_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"harness/tests/mockmodel"
)

// In Gemini's dialect a script works as in codex's: a tool call, its output, an answer that quotes it; a refusal has
// Google's format.
func TestScriptInGeminisDialect(t *testing.T) {
	t.Parallel()
	model := mockmodel.Start(t)
	ask := func(contents string) (status int, parts []map[string]any) {
		body := `{"contents":[` + contents + `],"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}]}`
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			model.Root()+"/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			raw, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var chunk struct {
				Candidates []struct {
					Content struct{ Parts []map[string]any }
				}
			}
			if err := json.Unmarshal([]byte(raw), &chunk); err != nil {
				t.Fatal(err)
			}
			parts = append(parts, chunk.Candidates[0].Content.Parts...)
		}
		return response.StatusCode, parts
	}
	user := `{"role":"user","parts":[{"text":"<session_context>MOCK_HTTP_500</session_context>"},{"text":"MOCK_REASON MOCK_CMD[ls]"}]}`
	_, parts := ask(user)
	if len(parts) != 1 || !strings.Contains(fmt.Sprint(parts[0]["functionCall"]), "command:ls") {
		t.Errorf("it begins with %v", parts)
	}
	_, parts = ask(user +
		`,{"role":"user","parts":[{"functionResponse":{"id":"fc","name":"run_shell_command","response":{"output":"a.txt"}}}]}`)
	text := ""
	if parts[0]["thought"] != true {
		t.Errorf("it thinks %v", parts[0])
	}
	for _, part := range parts[1:] {
		text += fmt.Sprint(part["text"])
	}
	if text != "Tool said: a.txt" {
		t.Errorf("it ends with %q", text)
	}
	if status, _ := ask(`{"role":"user","parts":[{"text":"MOCK_HTTP_429"}]}`); status != http.StatusTooManyRequests {
		t.Errorf("a refusal is %d", status)
	}
	if outputs := model.Outputs(); len(outputs) != 1 || outputs[0] != (mockmodel.Output{CallID: "fc", Text: "a.txt"}) {
		t.Errorf("the outputs are %v", outputs)
	}
}
