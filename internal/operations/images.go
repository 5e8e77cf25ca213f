package operations

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
)

// checkImages refuses images that are not data URLs of pictures. The runtime gets exactly the checked texts.
func checkImages(images []string) error {
	var problems []Problem
	for i, image := range images {
		if problem := imageProblem(image); problem != "" {
			problems = append(problems, Problem{Field: "images", Index: i, Message: problem})
		}
	}
	if problems == nil {
		return nil
	}
	return &InvalidError{problems}
}

// imageTypes returns the image types that messages accept.
func imageTypes() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

const imageForms = "An image is a data URL (data:image/png;base64,...), as a string or in {\"url\":...}, or an upload of " +
	"the session (upload:ID); remote images and files are not read: " +
	"send the picture itself, or name it in the text for the agent to open"

// imageProblem describes the problem of an image, "" for none. The runtime's process would read a path with its own
// rights, regardless of the session's. codex refuses remote images, and a client could direct a server that loads them
// to any address it reaches.
func imageProblem(text string) string {
	rest, isData := strings.CutPrefix(text, "data:")
	if !isData {
		return imageForms
	}
	head, data, _ := strings.Cut(rest, ",")
	mediaType, isBase64 := strings.CutSuffix(head, ";base64")
	if !isBase64 || !slices.Contains(imageTypes(), mediaType) {
		return "A data URL of an image is data:TYPE;base64,DATA with a type of " + strings.Join(imageTypes(), ", ")
	}
	content, err := base64.StdEncoding.Strict().DecodeString(data)
	if err != nil || strings.ContainsAny(data, "\r\n") {
		return "The data of an image is not base64"
	}
	if found := http.DetectContentType(content); found != mediaType {
		return "The data of an image is " + found + ", not " + mediaType
	}
	return ""
}
