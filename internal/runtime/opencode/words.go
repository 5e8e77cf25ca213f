package opencode

import (
	"encoding/json"
	"strings"

	"harness/internal/runtime/wire"
)

// event is an event of OpenCode. Its properties depend on the type.
type event struct {
	Type       string          `json:"type"`
	Properties json.RawMessage `json:"properties"`
}

// said has the properties of the events the translator uses.
type said struct {
	SessionID string          `json:"sessionID"`
	Info      json.RawMessage `json:"info"`
	Part      part            `json:"part"`
	MessageID string          `json:"messageID"`
	PartID    string          `json:"partID"`
	Field     string          `json:"field"`
	Delta     string          `json:"delta"`
	RequestID string          `json:"requestID"`
	Reply     string          `json:"reply"`
	Status    status          `json:"status"`
	Error     *nativeError    `json:"error"`
	Todos     []todo          `json:"todos"`
}

type sessionInfo struct {
	ID         string     `json:"id"`
	ParentID   string     `json:"parentID"`
	Title      string     `json:"title"`
	Directory  string     `json:"directory"`
	Permission []rule     `json:"permission"`
	Tokens     tokens     `json:"tokens"`
	Model      *nameModel `json:"model"`
	Time       struct {
		Created  int64   `json:"created"`
		Updated  int64   `json:"updated"`
		Archived float64 `json:"archived"`
	} `json:"time"`
}

type nameModel struct {
	ID       string `json:"id"`
	Provider string `json:"providerID"`
}

type messageInfo struct {
	ID       string          `json:"id"`
	Role     string          `json:"role"`
	ParentID string          `json:"parentID"`
	Summary  json.RawMessage `json:"summary,omitempty"`
	Error    *nativeError    `json:"error"`
	Time     struct {
		Created   int64 `json:"created"`
		Completed int64 `json:"completed"`
	} `json:"time"`
}

func (m messageInfo) finished() bool { return m.Time.Completed != 0 || m.Error != nil }

// message is a message in the list of a conversation.
type message struct {
	Info  json.RawMessage   `json:"info"`
	Parts []json.RawMessage `json:"parts"`
}

type part struct {
	ID        string    `json:"id"`
	MessageID string    `json:"messageID"`
	Type      string    `json:"type"`
	Text      string    `json:"text"`
	Mime      string    `json:"mime"`
	URL       string    `json:"url"`
	Synthetic bool      `json:"synthetic"`
	Ignored   bool      `json:"ignored"`
	Tool      string    `json:"tool"`
	CallID    string    `json:"callID"`
	State     toolState `json:"state"`
	Tokens    tokens    `json:"tokens"`
	Time      times     `json:"time"`
}

type times struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

type toolState struct {
	Status   string          `json:"status"`
	Input    json.RawMessage `json:"input"`
	Output   string          `json:"output"`
	Error    string          `json:"error"`
	Metadata toolMetadata    `json:"metadata"`
	Time     times           `json:"time"`
	// Attachments are files that the tool returned.
	Attachments []attachment `json:"attachments"`
}

type attachment struct {
	Mime string `json:"mime"`
	URL  string `json:"url"`
}

// images returns the attachments that are images, with their bytes.
func (s toolState) images() (found []wire.Picture) {
	for _, one := range s.Attachments {
		if _, data, is := strings.Cut(one.URL, ";base64,"); is && strings.HasPrefix(one.Mime, "image/") {
			found = append(found, wire.NewPicture(one.Mime, data))
		}
	}
	return found
}

type toolMetadata struct {
	Output   string      `json:"output"`
	Exit     *int        `json:"exit"`
	Diff     string      `json:"diff"`
	FilePath string      `json:"filepath"`
	Exists   *bool       `json:"exists"`
	Command  string      `json:"command"`
	Files    []patchFile `json:"files"`
}

type patchFile struct {
	Path string `json:"filePath"`
	Type string `json:"type"`
	Diff string `json:"diff"`
}

type toolInput struct {
	Command  string `json:"command"`
	Workdir  string `json:"workdir"`
	FilePath string `json:"filePath"`
	Content  string `json:"content"`
}

type tokens struct {
	Input     int64 `json:"input"`
	Output    int64 `json:"output"`
	Reasoning int64 `json:"reasoning"`
	Cache     struct {
		Read  int64 `json:"read"`
		Write int64 `json:"write"`
	} `json:"cache"`
}

type status struct {
	Type    string `json:"type"`
	Attempt int    `json:"attempt"`
	Message string `json:"message"`
}

type nativeError struct {
	Name string `json:"name"`
	Data struct {
		Message    string `json:"message"`
		StatusCode int    `json:"statusCode"`
		Headers    struct {
			RetryAfter string `json:"retry-after"`
		} `json:"responseHeaders"`
	} `json:"data"`
}

type todo struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

type permission struct {
	ID         string          `json:"id"`
	SessionID  string          `json:"sessionID"`
	Permission string          `json:"permission"`
	Patterns   []string        `json:"patterns"`
	Always     []string        `json:"always"`
	Metadata   json.RawMessage `json:"metadata"`
	Tool       toolRef         `json:"tool"`
}

type question struct {
	ID        string  `json:"id"`
	SessionID string  `json:"sessionID"`
	Tool      toolRef `json:"tool"`
	Questions []struct {
		Question string `json:"question"`
		Header   string `json:"header"`
		Custom   *bool  `json:"custom"`
		Multiple bool   `json:"multiple"`
		Options  []struct {
			Label       string `json:"label"`
			Description string `json:"description"`
		} `json:"options"`
	} `json:"questions"`
}

type toolRef struct {
	MessageID string `json:"messageID"`
	CallID    string `json:"callID"`
}
