package contract

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// The code fences of a recorded instruction, which contain the chat's text.
var (
	requestFence    = regexp.MustCompile("(?s)(```user-request\\.md\\n).*?(\\n```)")
	transcriptFence = regexp.MustCompile("(?s)(```transcript\\.md\\n).*?(\\n```)")
)

// recordedSupervisor is an extension that queues the same jobs as the recorded one: when an unnamed chat gets a
// message, and when a client requests a suggestion. The payloads are the recorded ones with this server's ids. Its
// workers run like the recorded ones.
func recordedSupervisor(topic string) map[string]string {
	templates, err := recordedPayloads(topic)
	if err != nil {
		panic("contract: " + err.Error()) // the recordings are compiled in
	}
	encoded := quoted(templates)
	files := supervisor()
	files["agents/supervisor/agent.config.json"] =
		`{"model":"gpt-5.3-codex","turnPolicy":{"sandbox":"workspace-write","networkAccess":"enabled",` +
			`"approvalPolicy":"never","effort":"low"}}`
	files["agents/supervisor/events.js"] = `const templates = ` + encoded + `;
function enqueue(tools, kind, values) {
  let text = templates[kind];
  for (const [name, value] of Object.entries(values)) text = text.split("<<" + name + ">>").join(JSON.stringify(value).slice(1, -1));
  return tools.enqueueJob({ type: "agent_instruction", projectId: values.project, sourceSessionId: values.session,
  	payload: JSON.parse(text) });
}
export function registerAgentEvents(registry) {
  registry.on("app_server.item.started", ({ payload }, tools) => {
    const { params, session, context } = payload;
    if (params.item.type !== "userMessage" || session?.title !== "New chat") return;
    return enqueue(tools, "session_initial_rename", { project: session.projectId ?? "session:" + session.id,
    	session: session.id, turn: context.turnId,
      request: params.item.content[0].text });
  });
  registry.on("suggest_request.requested", ({ payload: p }, tools) => enqueue(tools, "suggest_request",
  	{ project: p.projectId, session: p.sessionId,
    turn: p.turnId, key: p.requestKey, request: p.userRequest, transcript: p.turnTranscript }));
}
`
	return files
}

// recordedPayloads returns the payloads of the recorded jobs of a project, one for each kind. <<places>> mark the
// parts that differ between jobs.
func recordedPayloads(topic string) (map[string]string, error) {
	records, err := Load(topic)
	if err != nil {
		return nil, err
	}
	templates := map[string]string{}
	for _, record := range records {
		var listed struct {
			Data []struct {
				Payload json.RawMessage `json:"payload"`
			} `json:"data"`
		}
		if !strings.HasSuffix(record.Path, "/orchestrator/jobs") ||
			json.Unmarshal([]byte(record.ResponseBody), &listed) != nil {
			continue
		}
		for _, job := range listed.Data {
			var payload struct {
				JobKind, ProjectID, SourceSessionID, TurnID, InstructionText string
				CompletionSignal                                             struct{ RequestKey string }
			}
			if err := json.Unmarshal(job.Payload, &payload); err != nil {
				return nil, fmt.Errorf("a recorded job of %s: %w", topic, err)
			}
			if strings.Contains(payload.ProjectID, ":") {
				continue // it contains the session's id, so the two cannot be distinguished
			}
			text := requestFence.ReplaceAllString(payload.InstructionText, "${1}<<request>>$2")
			text = transcriptFence.ReplaceAllString(text, "${1}<<transcript>>$2")
			whole := strings.Replace(string(job.Payload), quoted(payload.InstructionText), quoted(text), 1)
			for place, id := range map[string]string{"project": payload.ProjectID, "session": payload.SourceSessionID,
				"turn": payload.TurnID,
				"key":  payload.CompletionSignal.RequestKey} {
				if id != "" {
					whole = strings.ReplaceAll(whole, id, "<<"+place+">>")
				}
			}
			templates[payload.JobKind] = whole
		}
	}
	if len(templates) == 0 {
		return nil, fmt.Errorf("the recording of %s has no job of a project", topic)
	}
	return templates, nil
}

// quoted returns a value as JavaScript's JSON formats it.
func quoted(value any) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic("contract: encode: " + err.Error()) // texts always encode
	}
	return strings.TrimSuffix(out.String(), "\n")
}
