package backup_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

type projects struct {
	Data []struct{ ProjectID, Name, CreatedAt, UpdatedAt string }
}

func (p projects) names() map[string]bool {
	names := map[string]bool{}
	for _, project := range p.Data {
		names[project.Name] = true
	}
	return names
}

// load creates projects until stop is closed; acknowledged lists the confirmed ones.
func load(server *programtest.Server, writers int, stop <-chan struct{}) (acknowledged func() []string, wait func()) {
	var (
		mu   sync.Mutex
		done []string
		all  sync.WaitGroup
	)
	for writer := range writers {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprintf("%d-%d", writer, n)
				status, _, err := server.Try(http.MethodPost, "/api/projects", map[string]any{"name": name})
				if err == nil && status == http.StatusOK {
					mu.Lock()
					done = append(done, name)
					mu.Unlock()
				}
			}
		})
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string{}, done...)
	}, all.Wait
}

// A backup made while clients write, and restored after a kill, has every write that was acknowledged before it
// started, and no partial one.
func TestABackupUnderLoadHasAllThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		site := programtest.New(t, programtest.WithoutAgent(), programtest.WithEngine(engine))
		server := site.Start()
		stop := make(chan struct{})
		acknowledged, wait := load(server, 4, stop)
		for len(acknowledged()) < 200 {
			if status, answer, err := server.Try(http.MethodGet, "/api/projects", nil); err != nil || status != http.StatusOK {
				t.Fatal(status, string(answer), err)
			}
		}
		before := acknowledged()
		file := filepath.Join(t.TempDir(), "all.harness")
		site.MustRun("backup", file)
		server.Kill()
		close(stop)
		wait()

		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the archive: %v, %v", info.Mode(), err)
		}
		if code, _, output := site.Run("backup", file); code == 0 || !strings.Contains(output, "name another file") {
			t.Errorf("a second backup into the same file ended with %d: %s", code, output)
		}
		restored := programtest.New(t, programtest.WithoutAgent(), programtest.WithEngine(engine))
		restored.MustRun("restore", file)
		if code, _, output := restored.Run("restore", file); code == 0 || !strings.Contains(output, "not empty") {
			t.Errorf("restored over what is there: %d %s", code, output)
		}
		again := restored.Start()
		found := programtest.Get[projects](again, "/api/projects").names()
		for _, name := range before {
			if !found[name] {
				t.Errorf("project %s was acknowledged before the backup and is gone", name)
			}
		}
		if node := func(s *programtest.Site) string {
			id, _ := os.ReadFile(filepath.Join(s.DataDir, "node-id"))
			return string(id)
		}; node(site) == "" || node(site) != node(restored) {
			t.Errorf("the node %q came back as %q", node(site), node(restored))
		}
		if status, answer, err := again.Try(http.MethodPost, "/api/projects",
			map[string]any{"name": "after"}); err != nil || status != 200 {
			t.Errorf("a write after the restore: %d %s %v", status, answer, err)
		}
	})
}

// A store moves to Postgres and back unchanged. A server that gets a Postgres on a used data directory reports so; one
// with a moved store does not.
func TestAStoreMovesToTheOtherEngineAndBack(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t, database.Postgres)
	site := programtest.New(t, programtest.WithoutAgent())
	server := site.Start()
	for n := range 20 {
		if status, answer, err := server.Try(http.MethodPost, "/api/projects",
			map[string]any{"name": fmt.Sprint("p", n)}); err != nil || status != 200 {
			t.Fatal(status, string(answer), err)
		}
	}
	want := programtest.Get[projects](server, "/api/projects")
	onPostgres := *site
	onPostgres.Env = append(append([]string{}, site.Env...), "DATABASE_URL="+url)
	if code, _, output := onPostgres.Run("migrate-store", "postgres"); code == 0 ||
		!strings.Contains(output, "already using") {
		t.Errorf("moved below a running server: %d %s", code, output)
	}
	server.Stop()

	server = onPostgres.Start()
	if !strings.Contains(server.Log(), "has a SQLite store") {
		t.Errorf("no warning of the store that is not shown:\n%s", server.Log())
	}
	server.Stop()
	// The start of that server is already an event on Postgres: a store with rows is not filled.
	if code, _, output := onPostgres.Run("migrate-store", "postgres"); code == 0 || !strings.Contains(output, "not empty") {
		t.Errorf("moved over what is there: %d %s", code, output)
	}
	onPostgres.Env = append(onPostgres.Env, "DATABASE_URL="+dbtest.URL(t, database.Postgres))
	onPostgres.MustRun("migrate-store", "postgres")
	server = onPostgres.Start()
	if got := programtest.Get[projects](server, "/api/projects"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("on Postgres: %v, want %v", got, want)
	}
	if strings.Contains(server.Log(), "has a SQLite store") {
		t.Errorf("a warning after the move:\n%s", server.Log())
	}
	if code, _, output := onPostgres.Run("migrate-store", "sqlite"); code == 0 || !strings.Contains(output, "already using") {
		t.Errorf("moved back below a running server: %d %s", code, output)
	}
	server.Stop()
	// A server that did not deregister in time delays the move.
	for until := time.Now().Add(time.Minute); ; {
		code, _, output := onPostgres.Run("migrate-store", "sqlite")
		if code == 0 {
			break
		}
		if !strings.Contains(output, "servers run") || time.Now().After(until) {
			t.Fatalf("moved back: %d %s", code, output)
		}
	}
	server = site.Start()
	if got := programtest.Get[projects](server, "/api/projects"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("back on SQLite: %v, want %v", got, want)
	}
}
