package agents

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"net/http"
	"regexp"
	"slices"
	"testing"

	"harness/tests/codextest"
	"harness/tests/mockmodel"
	"harness/tests/programtest"
)

// pictureURL returns a picture as a data URL, and the size of the picture in bytes.
func pictureURL(t *testing.T) (url string, size int) {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 33, 33))); err != nil {
		t.Fatal(err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(out.Bytes()), out.Len()
}

// images returns the pictures in a request to the model.
func images(t *testing.T, r mockmodel.Request) (urls []string) {
	t.Helper()
	var body struct {
		Input []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	for _, item := range body.Input {
		var parts []struct {
			Type     string
			ImageURL string `json:"image_url"`
		}
		if json.Unmarshal(item.Content, &parts) != nil {
			continue // a text
		}
		for _, part := range parts {
			if part.Type == "input_image" {
				urls = append(urls, part.ImageURL)
			}
		}
	}
	return urls
}

// The images of a message reach the model, in a new turn and in a running one. Every read of the transcript shows
// their addresses.
func TestImagesOfAMessageReachTheModel(t *testing.T) {
	t.Parallel()
	for _, version := range codextest.Versions() {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			s := programtest.New(t, programtest.WithCodex(version))
			server := s.Start()
			session := server.CreateSession(nil)
			events := server.Follow("threadId=" + session)
			picture, _ := pictureURL(t)
			send := func(message string, pictures ...any) string {
				t.Helper()
				answer := server.Want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/messages",
					programtest.Object{"text": message, "images": pictures})
				return programtest.Text(answer, "turnId")
			}
			events.WaitTurn(send("look", picture))
			turn := send("MOCK_HOLD[go]", programtest.Object{"url": picture}, picture)
			if err := s.Model.WaitHeld(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if steered := send("and this", picture); steered != turn {
				t.Errorf("steered into %s, not %s", steered, turn)
			}
			s.Model.Release("go")
			events.WaitTurn(turn)

			var seen []int
			for _, r := range s.Model.Requests() {
				found := images(t, r)
				seen = append(seen, len(found))
				if slices.ContainsFunc(found, func(url string) bool { return url != picture }) {
					t.Errorf("the model saw %q", found)
				}
			}
			if !slices.Equal(seen, []int{1, 3, 4}) {
				t.Errorf("the model saw %d images in its requests", seen)
			}
			const line = "\n[image] PATH"
			named := regexp.MustCompile(`/api/sessions/` + session + `/images/[0-9a-f-]{36}`)
			want := []string{"look" + line, "MOCK_HOLD[go]" + line + line, "and this" + line}
			for _, query := range []string{"", "?limit=100"} {
				answer := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+query, nil)
				var asked []string
				for _, entry := range answer["transcript"].([]any) {
					if programtest.Text(entry, "type") == "userMessage" {
						asked = append(asked, named.ReplaceAllString(programtest.Text(entry, "content"), "PATH"))
					}
				}
				if !slices.Equal(asked, want) {
					t.Errorf("read%s: %q, want %q", query, asked, want)
				}
			}
			server.Stop()
		})
	}
}
