// Package programtest runs the program as users do: its commands and whole servers. It starts, stops and kills
// servers with a real codex or another agent, a scripted model and either store.
package programtest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/runtime/process"
	"harness/internal/runtime/process/shim"
	"harness/tests/agenttest"
	"harness/tests/codextest"
	"harness/tests/dbtest"
	"harness/tests/mcptest"
	"harness/tests/mockmodel"
	"harness/tests/outside"
	"harness/tests/polling"
)

// Patience limits every wait of the end-to-end tests. It is generous because the machine may be busy, and only a
// failure uses it up.
const Patience = 3 * time.Minute

// Site is one installation: a data directory, a database, a codex home and a model. Tests start and stop servers on
// it.
type Site struct {
	T         *testing.T
	Model     *mockmodel.Server
	DataDir   string
	Workspace string
	// User is the user that runs the servers. Program is the executable to start.
	User    int
	Program string
	// Detecting means that the servers run under the race detector.
	Detecting bool
	// DatabaseURL is "" on SQLite.
	DatabaseURL string
	// Env has the settings of the site's servers and commands.
	Env []string
	// Host is where the site's servers run, nil for this machine.
	Host Host

	launched *atomic.Bool
}

// Host is a machine of a test's network.
type Host interface {
	// Inside runs a function on a thread inside the host. Programs that it starts run there too.
	Inside(do func() error) error
	// Dial connects from the host. Listen listens on the host.
	Dial(ctx context.Context, network, address string) (net.Conn, error)
	Listen(network, address string) (net.Listener, error)
}

// SiteOption changes how a site is made.
type SiteOption func(*siteOptions)

type siteOptions struct {
	engine database.Engine
	codex  codextest.Version
	env    []string
	// detect lists the engines on which a site's servers run under the race detector.
	detect []database.Engine
	// scripted means that the servers can also run the scripted agent.
	scripted bool
	// bare means that there is no agent.
	bare bool
	// home has additional options for codex's home.
	home []codextest.Option
	// databaseURL is the database of another site, to share it.
	databaseURL string
	host        Host
	dataDir     string
}

// WithDataDir makes the servers of a site keep their files in a folder, which need not exist yet.
func WithDataDir(folder string) SiteOption { return func(o *siteOptions) { o.dataDir = folder } }

// WithHost runs the servers, runtimes and model of a site on a machine of a test's network.
func WithHost(host Host) SiteOption { return func(o *siteOptions) { o.host = host } }

// WithEngine makes a site on an engine. The default is SQLite.
func WithEngine(engine database.Engine) SiteOption { return func(o *siteOptions) { o.engine = engine } }

// WithCodex makes a site with a codex version other than the newest.
func WithCodex(version codextest.Version) SiteOption {
	return func(o *siteOptions) { o.codex = version }
}

// WithDatabase makes a site on an existing database.
func WithDatabase(url string) SiteOption { return func(o *siteOptions) { o.databaseURL = url } }

// WithDatabaseOf makes a site for another server on the same Postgres.
func WithDatabaseOf(other *Site) SiteOption {
	return WithDatabase(other.DatabaseURL)
}

// WithEnv adds settings, as NAME=value, for all servers and commands of a site.
func WithEnv(env ...string) SiteOption {
	return func(o *siteOptions) { o.env = append(o.env, env...) }
}

// WithoutAgent makes a site for tests that need no agent. Its servers find none.
func WithoutAgent() SiteOption { return func(o *siteOptions) { o.bare = true } }

// WithMCP configures codex with a real MCP server and lets it request permissions.
func WithMCP() SiteOption {
	return func(o *siteOptions) {
		o.home = append(o.home, codextest.Feature("request_permissions_tool"),
			codextest.Config(mcptest.Config(os.Args[0], runAsMCP)))
	}
}

// New makes a site with a separate codex home and a scripted model. Leftovers of its servers end with the test.
func New(t *testing.T, options ...SiteOption) *Site {
	t.Helper()
	o := siteOptions{engine: database.SQLite, codex: codextest.Default}
	for _, option := range options {
		option(&o)
	}
	if !o.bare {
		outside.Needs(t, "an agent")
	}
	if o.databaseURL == "" {
		o.databaseURL = dbtest.URL(t, o.engine)
	}
	if o.dataDir == "" {
		o.dataDir = filepath.Join(t.TempDir(), "data")
	}
	s := &Site{T: t, User: os.Geteuid(), DataDir: o.dataDir, Workspace: t.TempDir(),
		DatabaseURL: o.databaseURL, Host: o.host, launched: new(atomic.Bool),
		Detecting: UnderRace && (slices.Contains(o.detect, o.engine) || os.Getenv(detectInAll) != "")}
	s.Program = programFor(t, s.Detecting, o.scripted)
	home, path, codex := t.TempDir(), os.Getenv("PATH"), "/nowhere/codex"
	if !o.bare {
		s.Model = mockmodel.StartOn(t, s.listen)
		home = codextest.Home(t, s.Model.URL(), append(o.home, codextest.For(o.codex))...)
		path, codex = agenttest.PathWithout(t, "bwrap"), codextest.Binary(t, o.codex)
	}
	s.Env = append([]string{
		"PATH=" + path, "HOME=" + home, "CODEX_HOME=" + home, "CODEX_BIN=" + codex,
		// Ignore other runtimes installed on this machine.
		"HARNESS_RUNTIMES=codex",
		"PORT=0", "DATA_DIR=" + s.DataDir, "HARNESS_LOG_FORMAT=json", "LOG_LEVEL=info",
		"DEFAULT_SANDBOX_MODE=danger-full-access",
		// An aborted test must not leave runtimes behind for long.
		"HARNESS_CHECKPOINTS=off", "HARNESS_DETACH_GRACE_MS=120000", "DATABASE_URL=" + s.DatabaseURL,
		// The detector reports races when they happen, so the one-second wait at each exit is useless.
		"GORACE=halt_on_error=1 atexit_sleep_ms=0",
	}, o.env...)
	t.Cleanup(s.EndRuntimes)
	return s
}

// listen listens on the loopback interface of the host where the servers run.
func (s *Site) listen() (net.Listener, error) {
	if s.Host != nil {
		return s.Host.Listen("tcp", "127.0.0.1:0")
	}
	return net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a moment
}

// EndRuntimes ends the runtimes that a killed server left running, as intended. It may find a runtime that the server
// was just starting a moment later.
func (s *Site) EndRuntimes() {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	s.awaitNoRuntimes(func() {
		found, err := shim.Discover(s.RunDir())
		if err != nil {
			s.T.Error(err)
		}
		for _, f := range found {
			if _, _, err := shim.Reap(ctx, f); err != nil {
				s.T.Error(err)
			}
		}
	})
}

// RunDir returns the folder of the shims of the site's servers.
func (s *Site) RunDir() string { return filepath.Join(s.DataDir, "run") }

// RequireNoOrphans checks in /proc that no runtime process, and no child of one, is left. A signal notifies a runtime
// of its server's death, so the check allows some time.
func (s *Site) RequireNoOrphans() {
	s.T.Helper()
	s.awaitNoRuntimes(func() {})
}

// awaitNoRuntimes waits until no runtime is left. It calls before ahead of each scan of the processes.
func (s *Site) awaitNoRuntimes(before func()) {
	s.T.Helper()
	var left []int
	var err error
	if !polling.Until(Patience, func() bool {
		before()
		left, err = process.Marked(process.Marker(s.DataDir, "codex"))
		return err == nil && len(left) == 0
	}) {
		s.T.Errorf("runtime processes left behind: %v (%v)", left, err)
	}
}

// Extension writes an extension into the workspace.
func (s *Site) Extension(name string, files map[string]string) {
	s.T.Helper()
	for file, text := range files {
		path := filepath.Join(s.Workspace, "agents", name, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			s.T.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			s.T.Fatal(err)
		}
	}
}
