package agui

import (
	"encoding/json"
	"strings"

	"harness/internal/lib/javascript"
	"harness/internal/services/session"
)

// input is the part of a run's input that this server uses. It has the conversation itself, so only the last message
// counts; state and context are the client's own.
type input struct {
	RunID    string `json:"runId"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"tools"`
	// ForwardedProps describe the session that a run makes.
	ForwardedProps struct {
		Runtime   string  `json:"runtime"`
		Model     *string `json:"model"`
		Cwd       string  `json:"cwd"`
		ProjectID string  `json:"projectId"`
	} `json:"forwardedProps"`

	message session.Message
}

// part is a part of a message; images of the versions before 1.0 are of type binary.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
	Source   struct {
		Type     string `json:"type"`
		Value    string `json:"value"`
		MimeType string `json:"mimeType"`
	} `json:"source"`
}

func parse(body string) (in input, err error) {
	if err := json.Unmarshal([]byte(body), &in); err != nil {
		return in, invalid("body", "The body is a RunAgentInput in JSON: "+err.Error())
	}
	if len(in.Messages) == 0 || in.Messages[len(in.Messages)-1].Role != "user" {
		return in, invalid("messages", "The last message is the user's; answers to requests go over REST")
	}
	in.message.Alone = true // a run is a turn of its own
	content := in.Messages[len(in.Messages)-1].Content
	if json.Unmarshal(content, &in.message.Text) != nil {
		var parts []part
		if json.Unmarshal(content, &parts) != nil {
			return in, invalid("messages", "The content of a message is a text or a list of parts")
		}
		if err := in.read(parts); err != nil {
			return in, err
		}
	}
	if len(in.Tools) > 0 {
		in.message.DynamicTools = in.tools()
	}
	return in, nil
}

func (in *input) read(parts []part) error {
	var texts []string
	for _, p := range parts {
		switch {
		case p.Type == "text":
			texts = append(texts, p.Text)
		case p.Type == "image" && p.Source.Type == "data":
			in.message.Images = append(in.message.Images, "data:"+p.Source.MimeType+";base64,"+p.Source.Value)
		case p.Type == "binary" && p.Data != "" && strings.HasPrefix(p.MimeType, "image/"):
			in.message.Images = append(in.message.Images, "data:"+p.MimeType+";base64,"+p.Data)
		default:
			return invalid("messages", "A part is a text, or an image with its data")
		}
	}
	in.message.Text = strings.Join(texts, "\n")
	return nil
}

// tools returns the client's tools as dynamic tools of a session.
func (in *input) tools() json.RawMessage {
	type tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	all := make([]tool, len(in.Tools))
	for i, one := range in.Tools {
		if len(one.Parameters) == 0 {
			one.Parameters = json.RawMessage(`{"type":"object"}`)
		}
		all[i] = tool{one.Name, one.Description, one.Parameters}
	}
	return javascript.MustEncode(all)
}

// create returns the session that a run makes.
func (in *input) create() session.Create {
	props := in.ForwardedProps
	return session.Create{Runtime: props.Runtime, Model: props.Model, Cwd: props.Cwd, ProjectID: props.ProjectID,
		DynamicTools: in.message.DynamicTools}
}
