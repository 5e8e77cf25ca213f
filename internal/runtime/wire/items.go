package wire

import "encoding/json"

// UserMessage returns the item of a user's message, in parts of text.
func UserMessage(id string, texts ...string) any { return UserMessageWithImages(id, nil, texts...) }

// UserMessageWithImages is UserMessage with images after the texts, as data URLs.
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

// AgentMessage returns the item of an agent's message.
func AgentMessage(id, text string) any { return textItem{ItemAgentMessage, id, text} }

// AgentImage returns the item of an image that the agent showed as a message.
func AgentImage(id string, image Picture) any {
	return struct {
		textItem
		Image Picture `json:"image"`
	}{textItem{ItemAgentMessage, id, imageSaid}, image}
}

// Plan returns the item of a plan.
func Plan(id, text string) any { return textItem{ItemPlan, id, text} }

type textItem struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Reasoning returns the item of the agent's reasoning, with summaries.
func Reasoning(id string, summaries, contents []string) any {
	return struct {
		Type     string   `json:"type"`
		ID       string   `json:"id"`
		Summary  []string `json:"summary"`
		Contents []string `json:"content"`
	}{ItemReasoning, id, append([]string{}, summaries...), append([]string{}, contents...)}
}

// Command is the item of a command with its result. Output and ExitCode are nil until known, ms until the command
// ends.
type Command struct {
	ID, Command, Cwd, Status string
	Output                   *string
	ExitCode                 *int
	DurationMS               *int64
}

// MarshalJSON implements json.Marshaler.
func (c Command) MarshalJSON() ([]byte, error) {
	return encode(struct {
		Type       string   `json:"type"`
		ID         string   `json:"id"`
		Command    string   `json:"command"`
		Actions    []action `json:"commandActions"`
		Cwd        string   `json:"cwd"`
		Status     string   `json:"status"`
		Output     *string  `json:"aggregatedOutput"`
		ExitCode   *int     `json:"exitCode"`
		DurationMS *int64   `json:"durationMs"`
	}{ItemCommand, c.ID, c.Command, actionsOf(c.Command), c.Cwd, c.Status, c.Output, c.ExitCode, c.DurationMS}), nil
}

// FileEdit is one changed file. Kind is add, update or delete. Diff is a unified diff, for add the whole text.
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

// FileChange returns the item of changed files.
func FileChange(id, status string, changes ...FileEdit) any {
	return struct {
		Type    string     `json:"type"`
		ID      string     `json:"id"`
		Changes []FileEdit `json:"changes"`
		Status  string     `json:"status"`
	}{ItemFileChange, id, append([]FileEdit{}, changes...), status}
}

// ToolCall is the item of a tool that is neither a command nor a file change. Server is the tool's server, or the
// runtime's name for its own tools. Arguments, Result and Error are JSON, nil for none.
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
