package codexmanager_test

import (
	"encoding/json"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// A session is exported as each kind of file; an agent's text never becomes markup of the page.
func TestASessionIsExported(t *testing.T) {
	t.Parallel()
	site := programtest.New(t, programtest.WithoutAgent())
	m := makeDirectory(t, 1)
	site.MustRun("import", "codex-manager", m.folder)
	server := site.Start()
	site.Env = append(site.Env, "HARNESS_URL="+server.URL)
	id := m.sessions[0]
	if status, answer, err := server.Try("POST", "/api/sessions/"+id+"/transcript/upsert",
		object{"messageId": "x", "turnId": "ci",
			"role": "assistant", "type": "agentMessage", "content": `<script>alert("1")</script>`,
			"status": "complete"}); err != nil || status != 200 {
		t.Fatal(status, string(answer), err)
	}
	markdown, page := site.MustRun("export", id), site.MustRun("sessions", "export", id, "--format", "html")
	if !strings.HasPrefix(markdown, "# Chat 0\n") ||
		!strings.Contains(markdown, "\n## user (userMessage)\n\nquestion 0\n") {
		t.Errorf("Markdown: %.300s", markdown)
	}
	for _, want := range []string{"<title>Chat 0</title>", "question 0", "&lt;script&gt;alert(", "2023-11-14T22:13:20Z",
		"default-src"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s: %.2000s", want, page)
		}
	}
	if strings.Contains(page, "<script") {
		t.Error("what was said is markup of the page")
	}
	lines := strings.Split(strings.TrimSpace(site.MustRun("export", id, "-o", "jsonl")), "\n")
	if len(lines) != entriesOfEach+1 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		var entry struct{ MessageID string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.MessageID == "" {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, wrong := range [][]string{{"--format", "pdf"}, {"--format", "html", "-o", "json"}} {
		if code, _, output := site.Run(append([]string{"export", id}, wrong...)...); code != 2 ||
			!strings.Contains(output, "--format") {
			t.Errorf("%v: %d %s", wrong, code, output)
		}
	}
}
