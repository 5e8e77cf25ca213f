package api_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"harness/internal/content/artifact"
	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// A client uploads an image to a session once, and messages refer to it. The agent gets the image itself. Files that
// are not images or are too long are refused, and no session can use the uploads of another one.
func TestUploadedPictures(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		events := journal.New(db, journal.Options{Logger: zerolog.Nop()})
		if err := events.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := events.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
		uploads := artifact.New(artifact.Options{DB: db, Journal: events, Dir: t.TempDir()})
		b := setup(t, func(p *parts) { p.Uploads = uploads })
		b.sessions.next.turnID = "turn"
		const all = "/api/sessions/" + knownID + "/uploads"
		png := "\x89PNG\x0D\x0A\x1A\x0A" + strings.Repeat("p", 2<<20) // longer than the limit for other bodies
		got := b.send(http.MethodPost, all+"?name=screen.png", "application/octet-stream", png)
		var kept struct {
			SessionID, Image, Name, ContentType, Hash string
			Size                                      int
		}
		if err := json.Unmarshal(got.Body.Bytes(), &kept); err != nil || got.Code != http.StatusCreated {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
		if kept.ContentType != "image/png" || kept.Name != "screen.png" || kept.Size != len(png) || kept.SessionID != knownID {
			t.Errorf("kept %+v", kept)
		}
		send := func(path string, images ...any) (int, string) {
			body, err := json.Marshal(map[string]any{"text": "look", "images": images})
			if err != nil {
				t.Fatal(err)
			}
			got := b.post("/api/sessions/"+knownID+path, string(body))
			return got.Code, got.Body.String()
		}
		url := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(png))
		if status, body := send("/messages", kept.Image, map[string]string{"url": kept.Image}); status != http.StatusAccepted {
			t.Fatalf("%d %.300s", status, body)
		}
		if got := b.sessions.messages[0].Images; !slices.Equal(got, []string{url, url}) {
			t.Errorf("the session got %.40q", got)
		}

		other, err := uploads.Put(t.Context(), "another session", "a.png", "image/png", []byte(png))
		if err != nil {
			t.Fatal(err)
		}
		for _, image := range []string{"upload:" + other.ID, "upload:", "upload:../" + other.ID} {
			if status, body := send("/messages", kept.Image, image); status != http.StatusBadRequest ||
				!strings.Contains(body, "The session has no such upload") || !strings.Contains(body, `"path":["images",1]`) {
				t.Errorf("%s: %d %s", image, status, body)
			}
		}
		if status, body := send("/queue", kept.Image); status != http.StatusAccepted || strings.Contains(body, "base64") ||
			!strings.Contains(body, kept.Image) {
			t.Errorf("the queued message has more than the image's name: %d %.300s", status, body)
		}
		if status, body := send("/queue", "upload:"+other.ID); status != http.StatusBadRequest {
			t.Errorf("the upload of another session is queued: %d %.300s", status, body)
		}
		if status, body := send("/messages", slices.Repeat([]any{kept.Image}, 11)...); status != http.StatusBadRequest ||
			!strings.Contains(body, `"path":["images",9]`) {
			t.Errorf("22 MiB: %d %s", status, body)
		}
		for name, c := range map[string]struct {
			path, content string
			status        int
		}{
			"text called a picture": {all + "?name=a.png", "root:x:0:0", http.StatusBadRequest},
			"SVG":                   {all, `<svg xmlns="http://www.w3.org/2000/svg"/>`, http.StatusBadRequest},
			"nothing":               {all, "", http.StatusBadRequest},
			"too long":              {all, png + strings.Repeat("p", operations.MaxUpload), http.StatusRequestEntityTooLarge},
			"an unknown session":    {"/api/sessions/" + unknownID + "/uploads", png, http.StatusNotFound},
		} {
			if got := b.send(http.MethodPost, c.path, "image/png", c.content); got.Code != c.status {
				t.Errorf("%s: %d %.300s, want %d", name, got.Code, got.Body, c.status)
			}
		}
		if len(b.sessions.messages) != 1 {
			t.Errorf("%d messages were sent", len(b.sessions.messages))
		}
	})
}
