package commands

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
	"harness/tests/s3test"
)

// The server archives events before it prunes them, on either engine, in a bucket or a folder. Commands list and
// print them and detect damage.
func TestWhatIsPrunedIsInTheArchive(t *testing.T) {
	t.Parallel()
	for engine, place := range map[database.Engine]func(t *testing.T) (env []string, dir string){
		database.SQLite: func(t *testing.T) ([]string, string) {
			dir := filepath.Join(t.TempDir(), "archive")
			return []string{"HARNESS_ARCHIVE=" + dir}, dir
		},
		database.Postgres: func(t *testing.T) ([]string, string) {
			store := s3test.Start(t)
			return []string{"HARNESS_ARCHIVE=s3", "HARNESS_S3_URL=" + store.Endpoint + "/" + store.Bucket,
				"HARNESS_S3_KEY=" + store.AccessKeyID + ":" + store.SecretAccessKey}, store.Dir
		},
	} {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			env, dir := place(t)
			site := programtest.New(t, programtest.WithEngine(engine), programtest.WithoutAgent(),
				programtest.WithEnv(append(env, "HARNESS_RETENTION=journal-events=1")...))
			server := site.Start()
			for i := range 5 {
				server.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": fmt.Sprintf("project %d", i)})
			}
			if said := site.MustRun("archive", "verify"); !strings.HasPrefix(said, "0 objects") {
				t.Errorf("the archive of young events is %s", said)
			}
			server.Stop()
			db := dbtest.Connect(t, site.Store())
			if err := db.Update(t.Context(), func(tx database.Tx) error {
				_, err := tx.ExecContext(t.Context(), `update journal_events set time = time - 100000000, checksum = null`) // more than a day
				return err
			}); err != nil {
				t.Fatal(err)
			}
			server = site.Start()
			server.Eventually("are the old events pruned", func() bool {
				var oldest int
				err := db.Read().QueryRowContext(t.Context(), `select oldest from journal_head where id = 1`).Scan(&oldest)
				return err == nil && oldest > 5
			})
			if _, metrics := server.Ask(http.MethodGet, "/metrics", nil); strings.Contains(metrics, "harness_archive_events_total 0\n") {
				t.Error("no archived events are counted")
			}
			server.Stop()

			if said := site.MustRun("archive", "verify"); !strings.HasPrefix(said, "1 objects are whole") {
				t.Errorf("the archive is %s", said)
			}
			names := map[string]bool{}
			for line := range strings.Lines(site.MustRun("archive", "read")) {
				var event struct {
					Pos     int64
					Payload struct{ Project struct{ Name string } }
				}
				if err := json.Unmarshal([]byte(line), &event); err != nil || event.Pos == 0 {
					t.Fatalf("a line is %.200s: %v", line, err)
				}
				names[event.Payload.Project.Name] = true
			}
			for i := range 5 {
				if name := fmt.Sprintf("project %d", i); !names[name] {
					t.Errorf("the event of %s is not in the archive", name)
				}
			}
			listed := strings.Fields(site.MustRun("archive", "list"))
			object := filepath.Join(dir, filepath.FromSlash(listed[len(listed)-1]))
			if err := os.WriteFile(object, []byte("something else"), 0o600); err != nil {
				t.Fatal(err)
			}
			if code, said := site.Command("archive", "verify"); code == 0 || !strings.Contains(said, filepath.Base(object)) {
				t.Errorf("of a damaged object it says %d %s", code, said)
			}
		})
	}
}
