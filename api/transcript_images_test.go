package api_test

import (
	"context"
	"net/http"
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
		for _, path := range []string{knownID + "/images/" + kept["another session"], knownID + "/images/none",
			unknownID + "/images/" + kept[knownID]} {
			if got := b.send(http.MethodGet, "/api/sessions/"+path, "", ""); got.Code != http.StatusNotFound {
				t.Errorf("%s answers %d %s", path, got.Code, got.Body)
			}
		}
	})
}
