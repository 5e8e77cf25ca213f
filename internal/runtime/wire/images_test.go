package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

// imagesOf finds the images of an item in every format of the runtimes, and nothing else.
func TestImagesOfItems(t *testing.T) {
	t.Parallel()
	png := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	jpeg := "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////"
	part := func(item, member, data string) string {
		return `{"id":"1",` + item + `{"` + member + `":"` + data + `"}]`
	}
	const said, call = `"type":"userMessage","content":[{"type":"text","text":"a"},`, `"type":"mcpToolCall","result":{"content":[`
	message := `"type":"userMessage","content":[{"type":"text","text":"a"},{"type":"image","url":"`
	for item, want := range map[string]string{
		`{"id":"1",` + message + `data:image/png;base64,` + png + `"}]}`:                                  "image/png",
		part(call, "data", jpeg) + `}}`:                                                                   "image/jpeg",
		part(call, "data", strings.ReplaceAll(jpeg, "/", `\/`)) + `}}`:                                    "image/jpeg",
		part(`"type":"dynamicToolCall","contentItems":[`, "imageUrl", "data:image/png;base64,"+png) + `}`: "image/png",
		`{"type":"imageGeneration","id":"1","status":"completed","result":"` + png + `"}`:                 "image/png",
		string(encode(AgentImage("1", NewPicture("image/png", png)))):                                     "image/png",
		`{"type":"agentMessage","id":"1","text":"` + png + `"}`:                                           "",
		part(call, "text", png) + `}}`:                                                                    "",
		part(call, "data", "aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8=") + `}}`:                             "",
		part(said, "url", "https://elsewhere/a-long-name-of-a-picture.png") + `}`:                         "",
		part(said, "url", "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmciPg==") + `}`: "",
		`{"type":"commandExecution","id":"1","aggregatedOutput":"x","data":"` + png + `"}`:                "",
	} {
		read, ok := ReadItem(json.RawMessage(item))
		found := ""
		for _, image := range read.Images {
			found += image.Type
			if _, err := image.Decode(); err != nil {
				t.Errorf("%s: %v", item, err)
			}
			if image.Said != "" && !strings.Contains(read.Content, image.Said) {
				t.Errorf("%q does not say %q", read.Content, image.Said)
			}
		}
		if !ok || found != want {
			t.Errorf("%s has %q, not %q", item, found, want)
		}
	}
}
