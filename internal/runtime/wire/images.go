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

// maxItemImages is how many images of an item are found: as many as a message may have.
const maxItemImages = 20

// ImageTypes are the types of images that are recognized by their bytes.
func ImageTypes() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

// imageMembers are the members in which the items of all runtimes have the bytes of images.
func imageMembers() []string {
	return []string{"data", "url", "imageUrl", "image_url", "result", "blob"}
}

// imageSaid is what stands in the text of an agent's message for an image.
const imageSaid = "[image]"

// imagesOf finds the images whose bytes are within an item: parts of what a person or an agent said, and what tools came to.
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

// minImage is shorter (bytes of base64) than any image.
const minImage = 32

// imageIn reads an image as the inside of a JSON string has it: base64, or a data URL of that.
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

// Picture is an image that a tool came to, in base64.
type Picture struct {
	Type string `json:"type"`
	Data string `json:"data"`
	Mime string `json:"mimeType"`
}

// NewPicture is a Picture of that media type.
func NewPicture(mime, data string) Picture { return Picture{"image", data, mime} }

// ToolResult is the result of a call: its text, when it has one, and the images.
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
