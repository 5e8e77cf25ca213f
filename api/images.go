package api

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"harness/api/schema"
)

// maxImages is the most images of one message.
const maxImages = 20

// imagesField takes images; imageURLs looks at each.
var imagesField = schema.ListOf(schema.Any()).Max(maxImages)

// imageURLs reads the images of a message: texts or {"url": text}. The runtime gets exactly what was checked here.
func imageURLs(images []schema.Value) (urls []string, err error) {
	var issues []schema.Issue
	for i, image := range images {
		text := image.Text()
		if inner := image.Get("url"); inner.Defined() {
			text = inner.Text()
		}
		if problem := imageProblem(text); problem != "" {
			issues = append(issues, schema.Custom(problem, "images", i))
		}
		urls = append(urls, text)
	}
	if len(issues) > 0 {
		return nil, &validationError{issues}
	}
	return urls, nil
}

const imageForms = "An image is a data URL (data:image/png;base64,...), as a text or in {\"url\":...}; remote images and files are not read: " +
	"send the picture itself, or name it in the text for the agent to open"

// imageProblem says what is wrong with an image, "" when nothing is. A path would be read with the rights of the runtime's own process,
// whatever the session may read; a remote image codex refuses, and a server that loads one can be sent to any address it reaches.
func imageProblem(text string) string {
	rest, isData := strings.CutPrefix(text, "data:")
	if !isData {
		return imageForms
	}
	imageTypes := []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	head, data, _ := strings.Cut(rest, ",")
	mediaType, isBase64 := strings.CutSuffix(head, ";base64")
	if !isBase64 || !slices.Contains(imageTypes, mediaType) {
		return "A data URL of an image is data:TYPE;base64,DATA with a type of " + strings.Join(imageTypes, ", ")
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
