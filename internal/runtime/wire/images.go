package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/jsonobject"
)

// maxItemImages bounds the images of an item. A message has the same limit.
const maxItemImages = 20

// ImageTypes returns the image types that this package detects by their bytes.
func ImageTypes() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

// imageMembers returns the members with image bytes in the items of all runtimes.
func imageMembers() []string {
	return []string{"data", "url", "imageUrl", "image_url", "result", "blob"}
}

// imageSaid replaces an image in the text of an agent's message.
const imageSaid = "[image]"

// imagesOf finds the images with their bytes in an item: parts of messages, and results of tools.
func imagesOf(item runtime.Item, raw json.RawMessage) (found []runtime.Image) {
	message := item.Type == ItemUserMessage || item.Type == ItemAgentMessage
	if !message && (!IsTool(item.Type) || item.Type == ItemCommand || item.Type == ItemFileChange) {
		return nil
	}
	jsonobject.EachString(raw, func(member []byte, start, end int) {
		if len(found) >= maxItemImages || end-start < minImage || !slices.Contains(imageMembers(), string(member)) {
			return
		}
		if image, is := imageIn(raw[start:end]); is {
			switch item.Type {
			case ItemAgentMessage:
				image.Said = imageSaid
			case ItemUserMessage:
				image.Said = "[image] " + withoutData(strings.ReplaceAll(string(raw[start:end]), `\/`, "/"))
			}
			found = append(found, image)
		}
	})
	return found
}

// minImage is less than the length of any image in base64 bytes.
const minImage = 32

// imageIn reads an image in a JSON string: base64, or a data URL with base64.
func imageIn(text []byte) (image runtime.Image, is bool) {
	if bytes.HasPrefix(text, []byte("data:")) {
		head, data, cut := bytes.Cut(text, []byte(","))
		if !cut || !bytes.HasSuffix(head, []byte(";base64")) {
			return runtime.Image{}, false
		}
		text = data
	}
	const head = 64 // characters of base64 that determine a type
	begin := strings.TrimSuffix(strings.ReplaceAll(string(text[:min(len(text), head)]), `\/`, "/"), `\`)
	begin = begin[:len(begin)/4*4]
	decoded, err := base64.StdEncoding.DecodeString(begin)
	if err != nil {
		return runtime.Image{}, false
	}
	kind := http.DetectContentType(decoded)
	return runtime.Image{Type: kind, Base64: text}, slices.Contains(ImageTypes(), kind)
}

// Picture is an image in a tool's result, in base64.
type Picture struct {
	Type string `json:"type"`
	Data string `json:"data"`
	Mime string `json:"mimeType"`
}

// NewPicture returns a Picture of that media type.
func NewPicture(mime, data string) Picture { return Picture{"image", data, mime} }

// ToolResult returns the result of a call: its text, if any, and the images.
func ToolResult(text string, images ...Picture) json.RawMessage {
	type said struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	content := []any{}
	if text != "" || len(images) == 0 {
		content = append(content, said{"text", text})
	}
	for _, image := range images {
		content = append(content, image)
	}
	return encode(struct {
		Content []any `json:"content"`
	}{content})
}
