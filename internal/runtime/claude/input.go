package claude

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"

	"encoding/base64"

	"harness/internal/runtime"
)

// maxImage bounds an image in bytes: Claude Code sends it with every request of the turn.
const maxImage = 20 << 20

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type imageContent struct {
	Type   string      `json:"type"`
	Source imageSource `json:"source"`
}

type imageSource struct {
	Type  string `json:"type"`
	Media string `json:"media_type,omitempty"`
	Data  string `json:"data,omitempty"`
	URL   string `json:"url,omitempty"`
}

// messageContent translates the parts of a message. It returns runtime.ErrInvalidParams for an unsupported one.
func messageContent(input []json.RawMessage) ([]any, error) {
	var content []any
	for _, raw := range input {
		var part struct {
			Type string `json:"type"`
			Text string `json:"text"`
			URL  string `json:"url"`
			Path string `json:"path"`
			Name string `json:"name"`
		}
		if err := json.Unmarshal(raw, &part); err != nil {
			return nil, fmt.Errorf("%w: a part of the message is not an object: %w", runtime.ErrInvalidParams, err)
		}
		switch part.Type {
		case "text":
			if part.Text != "" {
				content = append(content, textContent{"text", part.Text})
			}
		case "image":
			source, err := imageAt(part.URL)
			if err != nil {
				return nil, err
			}
			content = append(content, imageContent{"image", source})
		case "localImage":
			source, err := imageIn(part.Path)
			if err != nil {
				return nil, err
			}
			content = append(content, imageContent{"image", source})
		case "mention":
			content = append(content, textContent{"text", "@" + part.Path})
		default:
			return nil, fmt.Errorf(
				"%w: Claude Code takes no message part of type %q; it takes: text, image, localImage, mention",
				runtime.ErrInvalidParams, part.Type)
		}
	}
	if len(content) == 0 {
		return nil, fmt.Errorf("%w: the message is empty", runtime.ErrInvalidParams)
	}
	return content, nil
}

func imageAt(url string) (imageSource, error) {
	data, is := strings.CutPrefix(url, "data:")
	if !is {
		if !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") {
			return imageSource{}, fmt.Errorf("%w: an image is a data: URL with base64, or an http(s): URL",
				runtime.ErrInvalidParams)
		}
		return imageSource{Type: "url", URL: url}, nil
	}
	head, body, _ := strings.Cut(data, ",")
	media, encoded := strings.CutSuffix(head, ";base64")
	if kind, _, err := mime.ParseMediaType(media); err == nil {
		media = kind
	}
	if !encoded || !takes(media) {
		return imageSource{}, fmt.Errorf("%w: an image of type %q cannot be sent; Claude Code takes %v in base64",
			runtime.ErrInvalidParams, media, images())
	}
	if len(body) > base64.StdEncoding.EncodedLen(maxImage) {
		return imageSource{}, fmt.Errorf("%w: an image may be %d MB large", runtime.ErrTooLarge, maxImage>>20)
	}
	return imageSource{Type: "base64", Media: media, Data: body}, nil
}

func imageIn(path string) (imageSource, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return imageSource{}, fmt.Errorf("%w: cannot read the image: %w", runtime.ErrInvalidParams, err)
	case !info.Mode().IsRegular():
		return imageSource{}, fmt.Errorf("%w: %s is not an image", runtime.ErrInvalidParams, path)
	case info.Size() > maxImage:
		return imageSource{}, fmt.Errorf("%w: an image may be %d MB large", runtime.ErrTooLarge, maxImage>>20)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return imageSource{}, fmt.Errorf("%w: cannot read the image: %w", runtime.ErrInvalidParams, err)
	}
	media := http.DetectContentType(raw)
	if !takes(media) {
		return imageSource{}, fmt.Errorf("%w: %s is of type %q; Claude Code takes %v", runtime.ErrInvalidParams, path,
			media, images())
	}
	return imageSource{Type: "base64", Media: media, Data: base64.StdEncoding.EncodeToString(raw)}, nil
}

func images() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

func takes(media string) bool { return slices.Contains(images(), media) }
