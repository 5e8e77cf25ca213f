package agents

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// A queued message refers to its picture. Its row does not contain the picture's bytes. The model gets the picture
// when a later server sends the message.
func TestQueuedMessagesNameTheirPictures(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		s := programtest.New(t, programtest.WithEngine(engine))
		server := s.Start()
		session := server.CreateSession(nil)
		picture, _ := pictureURL(t)
		_, data, _ := strings.Cut(picture, ",")
		content, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			server.URL+"/api/sessions/"+session+"/uploads", bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		upload := programtest.Text(programtest.Decode[programtest.Object](t, kept), "image")
		server.Send(session, "MOCK_HOLD[go]")
		if err := s.Model.WaitHeld(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		server.Want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/queue",
			programtest.Object{"text": "look", "images": []string{upload}})
		server.Kill()
		rows, err := database.ReadTexts(t.Context(), dbtest.Connect(t, s.Store()).Read(), "read what waits",
			`select message from queued_messages`)
		if err != nil || len(rows) != 1 || !strings.Contains(rows[0], upload) || strings.Contains(rows[0], data) {
			t.Errorf("kept are %.300q, %v; want %s named alone", rows, err, upload)
		}
		server = s.Start()
		s.Model.Release("go")
		server.Eventually("the model sees the picture", func() bool {
			requests := s.Model.Requests()
			return slices.Contains(images(t, requests[len(requests)-1]), picture)
		})
		server.Stop()
	})
}
