package dbtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"harness/tests/outside"
	"harness/tests/polling"
)

// Pair is a Postgres and its synchronous standby, private to a test. The standby has everything that the primary
// acknowledges. Promote changes which of the two is the primary.
type Pair struct {
	t       testing.TB
	bin     string
	members [2]*member
	primary int
	// hosts are the machines of the members, nil for this machine.
	hosts [2]Host
	// feeds are the connections of a standby to each member of this machine.
	feeds    [2]*Proxy
	ways     []*Way
	settings []string
}

// member is one server. The server and its folder end with the test binary, however that ends.
type member struct {
	dir      string
	watcher  *exec.Cmd
	lifeline io.WriteCloser
}

// Host is a machine of a test's network.
type Host interface {
	// Inside runs a function on a thread inside the host. Programs that it starts run there too.
	Inside(do func() error) error
	// Address is the host's address for other hosts.
	Address() string
}

// NewPairAt is NewPair on two machines. The test itself breaks and repairs the network between them.
func NewPairAt(t testing.TB, hosts [2]Host) *Pair {
	t.Helper()
	return startPair(t, &Pair{t: t, hosts: hosts})
}

// NewPair starts both servers. settings like "fsync=on" are added to those that make tests fast.
func NewPair(t testing.TB, settings ...string) *Pair {
	t.Helper()
	return startPair(t, &Pair{t: t, settings: settings})
}

func startPair(t testing.TB, p *Pair) *Pair {
	t.Helper()
	outside.Needs(t, "Postgres")
	var err error
	if p.bin, err = findBinaries(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, m := range p.members {
			if m != nil {
				m.end()
			}
		}
	})
	p.members[0] = p.start(0, func(credential *syscall.Credential, data string) error {
		return initialize(p.bin, data, credential)
	})
	for i := range p.feeds {
		if p.hosts[i] == nil {
			p.feeds[i] = NewProxy(t, p.URL(0))
		}
	}
	p.Follow()
	return p
}

// anybody lets every client connect to a server on a test's network.
const anybody = "host all all all trust\nhost replication all all trust\n"

// start runs a server on the files that a function creates.
func (p *Pair) start(number int, files func(credential *syscall.Credential, data string) error) *member {
	p.t.Helper()
	dir, err := os.MkdirTemp("", "harness-pg-")
	if err != nil {
		p.t.Fatal(err)
	}
	credential, err := unprivileged(dir)
	if err != nil {
		p.t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	if err := p.at(number, func() error { return files(credential, data) }); err != nil {
		p.t.Fatalf("make a Postgres: %v", err)
	}
	listen := ""
	if p.hosts[number] != nil {
		listen = "*"
		if err := appendTo(filepath.Join(data, "pg_hba.conf"), anybody); err != nil {
			p.t.Fatal(err)
		}
	}
	script := `"$0" -D "$1" -k "$2" -c listen_addresses="$4" -c fsync=off -c synchronous_commit=on -c full_page_writes=off \
		-c max_connections=150 -c shared_buffers=32MB -c wal_keep_size=256MB -c wal_retrieve_retry_interval=100 $3 >"$2/log" 2>&1 & pg=$!
read -r _; kill -QUIT $pg 2>/dev/null; wait $pg; rm -rf "$2"`
	var settings strings.Builder
	for _, one := range p.settings {
		settings.WriteString(" -c " + one)
	}
	m := &member{dir: dir, watcher: command(credential, "/bin/sh", "-c", script, filepath.Join(p.bin, "postgres"), data, dir,
		settings.String(), listen)}
	if m.lifeline, err = m.watcher.StdinPipe(); err != nil {
		p.t.Fatal(err)
	}
	if err := p.at(number, m.watcher.Start); err != nil {
		p.t.Fatal(err)
	}
	if err := waitReady(m.url()); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		p.t.Fatalf("a Postgres did not come up: %v\n%s", err, log)
	}
	return m
}

// at runs a function on the machine of a member.
func (p *Pair) at(number int, do func() error) error {
	if host := p.hosts[number]; host != nil {
		return host.Inside(do)
	}
	return do()
}

func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

func (m *member) url() string {
	return "postgres:///postgres?host=" + url.QueryEscape(m.dir) + "&user=harness"
}

func (m *member) end() {
	_ = m.lifeline.Close()
	_ = m.watcher.Wait() // it ends together with its server
}

// URL returns a member's URL for the test itself, without a proxy.
func (p *Pair) URL(member int) string { return p.members[member].url() }

// Primary returns the member that accepts writes. Standby returns the other one.
func (p *Pair) Primary() int { return p.primary }

// Standby returns the member that follows the primary.
func (p *Pair) Standby() int { return 1 - p.primary }

// Kill kills all processes of a member at once, which simulates the loss of its machine.
func (p *Pair) Kill(member int) {
	p.t.Helper()
	m := p.members[member]
	if err := killServer(filepath.Join(m.dir, "data")); err != nil {
		p.t.Fatal(err)
	}
	m.end()
}

// killServer kills all processes of the server on some files at once.
func killServer(data string) error {
	said, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(said), "\n")
	children, err := os.ReadFile(fmt.Sprintf("/proc/%s/task/%[1]s/children", first))
	if err != nil {
		return err
	}
	for _, one := range append([]string{first}, strings.Fields(string(children))...) {
		pid, err := strconv.Atoi(one)
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// Distance delays all data between primary and standby by this much in each direction, once they have reconnected.
func (p *Pair) Distance(delay time.Duration) {
	p.t.Helper()
	p.Isolate()
	p.feeds[p.primary].Delay(delay)
	p.Rejoin()
	p.awaitSync()
}

// Isolate disconnects the primary from its standby. Both keep running.
func (p *Pair) Isolate() { p.feeds[p.primary].Cut() }

// Rejoin undoes Isolate.
func (p *Pair) Rejoin() { p.feeds[p.primary].Mend() }

// Alone isolates the standby and commits a write on the primary only. The write does not wait for the standby. A
// concurrent commit does wait for the standby and may block the write. Alone then lets both through and retries the
// write.
func (p *Pair) Alone(write func() error) {
	p.t.Helper()
	if !polling.Until(time.Minute, func() bool {
		p.Isolate()
		done := make(chan error, 1)
		go func() { done <- write() }()
		alone := true
		var err error
		select {
		case err = <-done:
		case <-time.After(5 * time.Second):
			alone = false
			p.Rejoin()
			err = <-done
		}
		if err != nil {
			p.t.Fatal(err)
		}
		return alone
	}) {
		p.t.Fatal("another commit waits for the standby whenever it is isolated")
	}
}

// Promote makes the standby a primary that waits for no standby, as it has none.
func (p *Pair) Promote() {
	p.t.Helper()
	p.primary = 1 - p.primary
	p.Do(`select pg_promote(false)`) // a promotion that waits may itself conflict with the rest of the log
	p.await("is the standby promoted", `select not pg_is_in_recovery()`)
	p.Do(`alter system set synchronous_standby_names = ''`)
	p.Do(`select pg_reload_conf()`)
}

// Follow replaces the other member, which has ended, with a new standby, and makes the primary wait for it.
func (p *Pair) Follow() {
	p.t.Helper()
	from, other := p.feedURL(), 1-p.primary
	p.members[other] = p.start(other, func(credential *syscall.Credential, data string) error {
		return ran(command(credential, filepath.Join(p.bin, "pg_basebackup"), "-D", data, "-d", from, "-R", "-X", "stream",
			"-c", "fast"))
	})
	for _, way := range p.ways {
		way.lead(other)
	}
	p.Do(`alter system set synchronous_standby_names = '*'`)
	p.Do(`select pg_reload_conf()`)
	p.awaitSync()
}

// deadLink ends a dead connection of libpq, for example after a killed test removed its network.
const deadLink = "&keepalives_idle=10&keepalives_interval=5&keepalives_count=3"

// feedURL returns a URL of the primary for a standby, over a working connection.
func (p *Pair) feedURL() string {
	p.t.Helper()
	feed := p.feeds[p.primary]
	if feed == nil {
		return URLAt(p.hosts[p.primary].Address()) + deadLink
	}
	if err := feed.Lead(p.URL(p.primary)); err != nil {
		p.t.Fatal(err)
	}
	feed.Mend()
	return feed.URL
}

func (p *Pair) awaitSync() {
	p.t.Helper()
	p.await("is the standby in sync", `select count(*) = 1 from pg_stat_replication where sync_state = 'sync' and state = 'streaming'`)
}

// Do runs a statement on the primary.
func (p *Pair) Do(statement string) {
	p.t.Helper()
	p.ask(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}

// await waits until a query on the primary returns true.
func (p *Pair) await(what, question string) {
	p.t.Helper()
	p.ask(func(ctx context.Context, conn *pgx.Conn) error { return until(ctx, conn, what, question) })
}

func (p *Pair) ask(do func(ctx context.Context, conn *pgx.Conn) error) {
	p.t.Helper()
	if err := ask(p.URL(p.primary), do); err != nil {
		p.t.Fatal(err)
	}
}

// ask runs a function with a connection to a server.
func ask(url string, do func(ctx context.Context, conn *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return do(ctx, conn)
}

// until waits until a query returns true.
func until(ctx context.Context, conn *pgx.Conn, what, question string) error {
	tick := time.Tick(20 * time.Millisecond)
	for yes := false; ; {
		if err := conn.QueryRow(ctx, question).Scan(&yes); err != nil || yes {
			return err
		}
		select {
		case <-tick:
		case <-ctx.Done():
			return fmt.Errorf("never %s: %w", what, ctx.Err())
		}
	}
}
