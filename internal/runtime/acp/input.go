package acp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"harness/internal/runtime"
)

// maxImage bounds an image from a file, in bytes.
const maxImage = 20 << 20

// userItem is the item of a message, with its content as sent.
type userItem struct {
	Type    string            `json:"type"`
	ID      string            `json:"id"`
	Content []json.RawMessage `json:"content"`
}

// part is a part of a message in neutral terms.
type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
	URL  string `json:"url"`
	Path string `json:"path"`
	Name string `json:"name"`
}

// promptOf translates a message. It returns runtime.ErrInvalidParams for an unsupported part.
func promptOf(input []json.RawMessage) ([]any, error) {
	prompt := []any{}
	for _, raw := range input {
		var p part
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, fmt.Errorf("%w: a part of the message is not an object: %w", runtime.ErrInvalidParams, err)
		}
		block, err := p.block()
		if err != nil {
			return nil, err
		}
		prompt = append(prompt, block)
	}
	if len(prompt) == 0 {
		return nil, fmt.Errorf("%w: the message is empty", runtime.ErrInvalidParams)
	}
	return prompt, nil
}

func (p part) block() (any, error) {
	switch p.Type {
	case "text":
		return map[string]string{"type": "text", "text": p.Text}, nil
	case "image":
		head, data, found := strings.Cut(p.URL, ",")
		kind, encoded := strings.CutSuffix(strings.TrimPrefix(head, "data:"), ";base64")
		if !found || !encoded || !strings.HasPrefix(head, "data:") {
			return nil, fmt.Errorf("%w: an image is given as a data URL in base64; this agent fetches none",
				runtime.ErrInvalidParams)
		}
		return map[string]string{"type": "image", "mimeType": kind, "data": data}, nil
	case "localImage":
		info, err := os.Stat(p.Path)
		if err != nil || info.Size() > maxImage {
			return nil, fmt.Errorf("%w: cannot read the image %s, or it is larger than %d MB (%w)", runtime.ErrInvalidParams, p.Path,
				maxImage>>20, orTooLarge(err))
		}
		data, err := os.ReadFile(p.Path)
		if err != nil {
			return nil, fmt.Errorf("%w: cannot read the image: %w", runtime.ErrInvalidParams, err)
		}
		return map[string]string{"type": "image", "mimeType": http.DetectContentType(data),
			"data": base64.StdEncoding.EncodeToString(data)}, nil
	case "mention":
		return map[string]string{"type": "resource_link", "name": p.Name,
			"uri": (&url.URL{Scheme: "file", Path: p.Path}).String()}, nil
	}
	return nil, fmt.Errorf(
		"%w: agents of this protocol do not support parts of type %q; use text, image, localImage or mention",
		runtime.ErrInvalidParams, p.Type)
}

func orTooLarge(err error) error {
	if err == nil {
		return runtime.ErrTooLarge
	}
	return err
}
