package wire

import "encoding/json"

// UserMessage is an item: what a person said, in parts of text.
func UserMessage(id string, texts ...string) any { return UserMessageWithImages(id, nil, texts...) }

// UserMessageWithImages is UserMessage with images behind the texts, as data URLs.
func UserMessageWithImages(id string, images []string, texts ...string) any {
	type textPart struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type imagePart struct {
		Type string `json:"type"`
		URL  string `json:"url"`
	}
	parts := make([]any, 0, len(texts)+len(images))
	for _, text := range texts {
		parts = append(parts, textPart{"text", text})
	}
	for _, url := range images {
		parts = append(parts, imagePart{"image", url})
	}
	return struct {
		Type    string `json:"type"`
		ID      string `json:"id"`
		Content []any  `json:"content"`
	}{ItemUserMessage, id, parts}
}

// AgentMessage is an item: what the agent said.
func AgentMessage(id, text string) any { return textItem{ItemAgentMessage, id, text} }

// AgentImage is an item: an image that the agent showed as a message of its own.
func AgentImage(id string, image Picture) any {
	return struct {
		textItem
		Image Picture `json:"image"`
	}{textItem{ItemAgentMessage, id, imageSaid}, image}
}

// Plan is an item: a plan the agent wrote.
func Plan(id, text string) any { return textItem{ItemPlan, id, text} }

type textItem struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Reasoning is an item: what the agent thought, and summaries of it.
func Reasoning(id string, summaries, contents []string) any {
	return struct {
		Type     string   `json:"type"`
		ID       string   `json:"id"`
		Summary  []string `json:"summary"`
		Contents []string `json:"content"`
	}{ItemReasoning, id, append([]string{}, summaries...), append([]string{}, contents...)}
}

// Command is an item: a command and what came of it. Output and ExitCode are nil until they are known, ms until it has
// ended.
type Command struct {
	ID, Command, Cwd, Status string
	Output                   *string
	ExitCode                 *int
	DurationMS               *int64
}

// MarshalJSON implements json.Marshaler.
func (c Command) MarshalJSON() ([]byte, error) {
	return encode(struct {
		Type       string  `json:"type"`
		ID         string  `json:"id"`
		Command    string  `json:"command"`
		Cwd        string  `json:"cwd"`
		Status     string  `json:"status"`
		Output     *string `json:"aggregatedOutput"`
		ExitCode   *int    `json:"exitCode"`
		DurationMS *int64  `json:"durationMs"`
	}{ItemCommand, c.ID, c.Command, c.Cwd, c.Status, c.Output, c.ExitCode, c.DurationMS}), nil
}

// FileEdit is one file of a change. Kind is add, update or delete; Diff is unified, for add the whole text.
type FileEdit struct {
	Path, Kind, Diff string
}

// MarshalJSON implements json.Marshaler.
func (f FileEdit) MarshalJSON() ([]byte, error) {
	type kind struct {
		Type string `json:"type"`
	}
	return encode(struct {
		Path string `json:"path"`
		Kind kind   `json:"kind"`
		Diff string `json:"diff"`
	}{f.Path, kind{f.Kind}, f.Diff}), nil
}

// FileChange is an item: files that are changed.
func FileChange(id, status string, changes ...FileEdit) any {
	return struct {
		Type    string     `json:"type"`
		ID      string     `json:"id"`
		Changes []FileEdit `json:"changes"`
		Status  string     `json:"status"`
	}{ItemFileChange, id, append([]FileEdit{}, changes...), status}
}

// ToolCall is an item: a tool that is neither a command nor a change of files. Server is that of the tool, for a tool
// of the runtime's own the runtime's name. Arguments, Result and Error are JSON, nil for none.
type ToolCall struct {
	ID, Server, Tool, Status string
	Arguments, Result, Error json.RawMessage
}

// MarshalJSON implements json.Marshaler.
func (c ToolCall) MarshalJSON() ([]byte, error) {
	return encode(struct {
		Type      string          `json:"type"`
		ID        string          `json:"id"`
		Server    string          `json:"server"`
		Tool      string          `json:"tool"`
		Status    string          `json:"status"`
		Arguments json.RawMessage `json:"arguments"`
		Result    json.RawMessage `json:"result"`
		Error     json.RawMessage `json:"error"`
	}{ItemToolCall, c.ID, c.Server, c.Tool, c.Status, c.Arguments, c.Result, c.Error}), nil
}
