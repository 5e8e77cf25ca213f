package dbtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/tests/outside"
	"harness/tests/polling"
)

// patroniPatience limits an action of Patroni, which waits for the end of a lease (20 s).
const patroniPatience = 2 * time.Minute

// Patroni is a Postgres that Patroni manages on three machines. Each machine is an address of the loopback interface.
type Patroni struct {
	t        testing.TB
	dir      string
	machines [3]*machine
	client   http.Client
	// run starts a program as the Postgres user.
	run func(name string, args ...string) *exec.Cmd
}

// machine is Patroni, Postgres and a member of etcd.
type machine struct {
	dir, name             string
	api, postgres         string // addresses
	etcdPeers, etcdClient string
	environment           []string
	watcher               *exec.Cmd
	lifeline              io.WriteCloser
}

// NewPatroni starts a Patroni according to a recipe, and replaces the recipe's addresses, paths and passwords. tool
// is the folder with etcd and Patroni, with Patroni's modules next to it.
func NewPatroni(t testing.TB, tool, recipe string) *Patroni {
	t.Helper()
	outside.Needs(t, "Patroni")
	bin, err := findBinaries()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "hp-") //nolint:usetesting // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	p := &Patroni{t: t, dir: dir, client: http.Client{Timeout: 2 * time.Second}}
	t.Cleanup(p.end)
	for i := range p.machines {
		address := func() string { return FreeAddress(t, fmt.Sprintf("127.0.0.%d", i+2)) }
		p.machines[i] = &machine{dir: filepath.Join(dir, fmt.Sprint(i+1)), name: fmt.Sprintf("db-%d", i+1), api: address(),
			postgres: address(), etcdPeers: address(), etcdClient: address()}
	}
	if out, err := exec.Command("cp", "-a", filepath.Dir(tool), filepath.Join(dir, "tool")).CombinedOutput(); err != nil {
		t.Fatalf("copy Patroni: %v\n%s", err, out)
	}
	credential, err := unprivileged(dir)
	if err != nil {
		t.Fatal(err)
	}
	p.run = func(name string, args ...string) *exec.Cmd { return command(credential, name, args...) }
	certificate(t, dir)
	who, err := user.Current()
	if err == nil && credential != nil {
		who, err = user.LookupId(fmt.Sprint(credential.Uid))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range p.machines {
		settings := p.settings(m, recipe, bin, who.Username)
		err := os.Mkdir(m.dir, 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(m.dir, "config.yml"), []byte(settings), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(settings) {
			if variable := strings.TrimLeft(line, "# "); strings.HasPrefix(variable, "ETCD_") {
				m.environment = append(m.environment, strings.TrimSpace(variable))
			}
		}
		m.environment = append(m.environment, "HOME="+m.dir, "ETCD_DATA_DIR="+filepath.Join(m.dir, "etcd"),
			"PYTHONPATH="+filepath.Join(dir, "tool", "python"), "PATH="+os.Getenv("PATH"))
	}
	if out, err := exec.Command("chown", "-R", who.Username, dir).CombinedOutput(); err != nil {
		t.Fatalf("give the files to %s: %v\n%s", who.Username, err, out)
	}
	for i := range p.machines {
		p.Start(i)
	}
	p.AwaitSync()
	if out, err := p.psql(bin, p.machines[p.Primary()], "postgres", "create role harness login password 'secret'",
		"create database harness owner harness"); err != nil {
		t.Fatalf("make the database: %v\n%s", err, out)
	}
	// A machine that does not know the database yet refuses its clients.
	for _, m := range p.machines {
		p.await(m.name+" has the database", func([]patroniMember) bool {
			_, err := p.psql(bin, m, "harness", "select 1")
			return err == nil
		})
	}
	return p
}

// psql runs statements in a database on a machine's Postgres.
func (p *Patroni) psql(bin string, m *machine, database string, statements ...string) ([]byte, error) {
	args := []string{"-h", m.dir, "-p", port(m.postgres), "-d", database}
	for _, statement := range statements {
		args = append(args, "-c", statement)
	}
	return p.run(filepath.Join(bin, "psql"), args...).CombinedOutput()
}

func port(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// settings returns the recipe's settings for a machine.
func (p *Patroni) settings(m *machine, recipe, bin, who string) string {
	replace := []string{"name: db-1\n", "name: " + m.name + "\n", "ETCD_NAME=db-1", "ETCD_NAME=" + m.name}
	for i, peer := range p.machines {
		replace = append(replace, fmt.Sprintf("db-%d=http://10.0.1.%[1]d:2380", i+1), fmt.Sprintf("db-%d=http://%s", i+1, peer.etcdPeers))
	}
	clients := []string{p.machines[0].etcdClient, p.machines[1].etcdClient, p.machines[2].etcdClient}
	replace = append(replace, "[10.0.1.1:2379, 10.0.1.2:2379, 10.0.1.3:2379]", "["+strings.Join(clients, ", ")+"]",
		"10.0.1.1:2380", m.etcdPeers, "10.0.1.1:2379", m.etcdClient, "10.0.1.1:8008", m.api, "10.0.1.1:5432", m.postgres,
		"10.0.0.0/16", "127.0.0.0/8", "10.0.1.0/24", "127.0.0.0/8", "REPLACE", "secret", "{username: postgres}", "{username: "+who+"}",
		"local all postgres", "local all "+who,
		"/etc/ssl/certs/ssl-cert-snakeoil.pem", filepath.Join(p.dir, "cert.pem"), "/etc/ssl/private/ssl-cert-snakeoil.key",
		filepath.Join(p.dir, "key.pem"), "/var/lib/postgresql/15/harness", filepath.Join(m.dir, "data"), "/usr/lib/postgresql/15/bin", bin,
		"use_unix_socket: true\n", fmt.Sprintf("use_unix_socket: true\n  parameters: {unix_socket_directories: %s}\n", m.dir))
	return strings.NewReplacer(replace...).Replace(recipe)
}

// certificate writes a certificate and its key.
func certificate(t testing.TB, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	made, err := x509.CreateCertificate(rand.Reader, is, is, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: made}, "key.pem": {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Start starts a machine. Its programs end with the test binary, however that ends.
func (p *Patroni) Start(i int) {
	p.t.Helper()
	m := p.machines[i]
	const script = `cd "$0" && "$1/bin/etcd" >>etcd.log 2>&1 & etcd=$!
/usr/bin/python3 "$1/bin/patroni" "$0/config.yml" >>"$0/patroni.log" 2>&1 & patroni=$!
read -r _; kill -KILL $patroni $etcd; kill -QUIT $(head -n 1 "$0/data/postmaster.pid") 2>/dev/null; wait`
	m.watcher = p.run("/bin/sh", "-c", script, m.dir, filepath.Join(p.dir, "tool"))
	m.watcher.Env = m.environment
	var err error
	if m.lifeline, err = m.watcher.StdinPipe(); err != nil {
		p.t.Fatal(err)
	}
	if err := m.watcher.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// Lose kills all programs of a machine at once.
func (p *Patroni) Lose(i int) {
	p.t.Helper()
	m := p.machines[i]
	if err := killServer(filepath.Join(m.dir, "data")); err != nil {
		p.t.Fatal(err)
	}
	if err := syscall.Kill(-m.watcher.Process.Pid, syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
	p.stop(m)
}

func (p *Patroni) stop(m *machine) {
	_ = m.lifeline.Close()
	_ = m.watcher.Wait() // it ends together with its programs
	m.watcher = nil
}

func (p *Patroni) end() {
	for _, m := range p.machines {
		if m != nil && m.watcher != nil {
			p.stop(m)
		}
		if m != nil && p.t.Failed() {
			log, _ := os.ReadFile(filepath.Join(m.dir, "patroni.log"))
			p.t.Logf("%s: %s", m.name, log[max(0, len(log)-4000):])
		}
	}
	if err := os.RemoveAll(p.dir); err != nil {
		p.t.Error(err)
	}
}

// URL returns the DATABASE_URL for servers.
func (p *Patroni) URL() string {
	return fmt.Sprintf("postgres://harness:secret@%s,%s,%s/harness?target_session_attrs=read-write&sslmode=require",
		p.machines[0].postgres, p.machines[1].postgres, p.machines[2].postgres)
}

// patroniMember is Patroni's description of a machine.
type patroniMember struct {
	Name, Role, State string
	Lag               any
}

// members returns the machines that a running machine reports.
func (p *Patroni) members() (found []patroniMember) {
	for _, m := range p.machines {
		if m.watcher == nil {
			continue
		}
		answer, err := p.client.Get("http://" + m.api + "/cluster")
		if err != nil {
			continue
		}
		var said struct{ Members []patroniMember }
		err = json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&said)
		_ = answer.Body.Close()
		if err == nil {
			return said.Members
		}
	}
	return nil
}

func (p *Patroni) await(what string, is func([]patroniMember) bool) {
	p.t.Helper()
	var last []patroniMember
	if !polling.Until(patroniPatience, func() bool { last = p.members(); return is(last) }) {
		p.t.Fatalf("never %s: %v", what, last)
	}
}

// Primary waits for a machine that accepts writes, and returns it.
func (p *Patroni) Primary() (primary int) {
	p.t.Helper()
	p.await("is there a primary", func(all []patroniMember) bool {
		for i, m := range p.machines {
			for _, one := range all {
				if one.Name == m.name && m.watcher != nil && one.Role == "leader" && one.State == "running" {
					primary = i
					return true
				}
			}
		}
		return false
	})
	return primary
}

// AwaitSync waits until all three machines are up and one standby has everything that the primary acknowledges.
func (p *Patroni) AwaitSync() {
	p.t.Helper()
	p.await("are all machines up and one in sync", func(all []patroniMember) bool {
		roles := map[string]int{}
		for _, one := range all {
			if one.State == "running" || one.State == "streaming" {
				roles[one.Role]++
			}
		}
		return roles["leader"] == 1 && roles["sync_standby"] == 1 && roles["replica"] == 1
	})
}
