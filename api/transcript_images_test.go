package api_test

import (
	"bytes"
	"context"
	"image"
	pngs "image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"harness/internal/content/artifact"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// Readers of a session can read the images of its transcript, and no other caller can.
func TestImagesOfASession(t *testing.T) {
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
		store := artifact.New(artifact.Options{DB: db, Journal: events, Dir: t.TempDir()})
		b := setup(t, func(p *parts) { p.Artifacts = store })
		const png = "\x89PNG\x0D\x0A\x1A\x0A and the rest"
		kept := map[string]string{}
		for _, session := range []string{knownID, "another session"} {
			err := db.Update(t.Context(), func(tx database.Tx) (err error) {
				kept[session], err = store.KeepImage(t.Context(), tx, session, []byte(png))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		got := b.send(http.MethodGet, "/api/sessions/"+knownID+"/images/"+kept[knownID], "", "")
		if got.Code != http.StatusOK || got.Body.String() != png || got.Header().Get("Content-Type") != "image/png" ||
			got.Header().Get("Content-Security-Policy") == "" || got.Header().Get("ETag") == "" {
			t.Errorf("%d %v %q", got.Code, got.Header(), got.Body)
		}
		// CO-30: the small version has the name and the guards of the image, and a tag of its own.
		var large bytes.Buffer
		if err := pngs.Encode(&large, image.NewGray(image.Rect(0, 0, 1600, 900))); err != nil {
			t.Fatal(err)
		}
		stored, err := store.Put(t.Context(), knownID, "screen.png", "image/png", large.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		small := b.send(http.MethodGet, "/api/sessions/"+knownID+"/images/"+stored.ID+"?size=small", "", "")
		shown, _, err := image.DecodeConfig(small.Body)
		if small.Code != http.StatusOK || err != nil || shown.Width != 398 || shown.Height != 224 ||
			small.Header().Get("Content-Type") != "image/jpeg" || small.Header().Get("Content-Security-Policy") == "" ||
			!strings.Contains(small.Header().Get("Content-Disposition"), "screen.png") || !strings.HasSuffix(small.Header().Get("ETag"), `-small"`) {
			t.Errorf("%d %v %v, %v", small.Code, small.Header(), shown, err)
		}
		if got := b.send(http.MethodGet, "/api/sessions/"+knownID+"/images/"+kept[knownID]+"?size=small", "", ""); got.Body.String() != png {
			t.Errorf("an image without a small version is %d %q", got.Code, got.Body)
		}
		for _, path := range []string{knownID + "/images/" + kept["another session"], knownID + "/images/none",
			unknownID + "/images/" + kept[knownID]} {
			if got := b.send(http.MethodGet, "/api/sessions/"+path, "", ""); got.Code != http.StatusNotFound {
				t.Errorf("%s answers %d %s", path, got.Code, got.Body)
			}
		}
	})
}
