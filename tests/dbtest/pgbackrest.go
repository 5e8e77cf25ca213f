package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Repository is a pgBackRest backup, with the log that it archives after the backup.
type Repository struct {
	pair *Pair
	dir  string
}

// PgBackRest makes a Repository while the primary runs. It copies the program out of its folder, because the Postgres
// user may have no access there. The Pair must have the setting archive_mode=on.
func (p *Pair) PgBackRest(bin string) *Repository {
	p.t.Helper()
	dir, err := os.MkdirTemp("", "harness-pgbackrest-")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program, err := os.ReadFile(filepath.Join(bin, "pgbackrest"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "pgbackrest"), program, 0o755)
	}
	primary := p.members[p.primary].dir
	settings := fmt.Sprintf("[global]\nrepo1-path=%s/repo\nlock-path=%[1]s/lock\nspool-path=%[1]s/spool\n"+
		"log-level-console=warn\nlog-level-file=off\ncompress-type=zst\nstart-fast=y\n[harness]\npg1-path=%s\npg1-socket-path=%s\n"+
		"pg1-user=harness\n",
		dir, filepath.Join(primary, "data"), primary)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "pgbackrest.conf"), []byte(settings), 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	r := &Repository{pair: p, dir: dir}
	credential, err := unprivileged(dir)
	if err != nil {
		p.t.Fatal(err)
	}
	run := func(args ...string) {
		p.t.Helper()
		if out, err := r.command(credential, args...).CombinedOutput(); err != nil {
			p.t.Fatalf("pgbackrest %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	p.Do(fmt.Sprintf(`alter system set archive_command = '%s archive-push %%p'`,
		strings.Join(r.command(nil).Args, " ")))
	p.Do(`select pg_reload_conf()`)
	run("stanza-create")
	run("check")
	run("backup")
	// pgBackRest stores the end of a backup with a precision of one second, and cannot restore to a time within that
	// second.
	p.await("is the second over", fmt.Sprintf("select clock_timestamp() > to_timestamp(%d)", time.Now().Unix()+1))
	return r
}

func (r *Repository) command(credential *syscall.Credential, args ...string) *exec.Cmd {
	return command(credential, filepath.Join(r.dir, "pgbackrest"),
		append([]string{"--config=" + filepath.Join(r.dir, "pgbackrest.conf"), "--stanza=harness"}, args...)...)
}

// Restore starts a server with everything committed before a point in time, and returns its URL.
func (r *Repository) Restore(at time.Time) string {
	p := r.pair
	p.t.Helper()
	return p.promoted(func(credential *syscall.Credential, data string) *exec.Cmd {
		return r.command(credential, "restore", "--pg1-path="+data, "--type=time", "--target="+pointInTime(at),
			"--target-action=promote")
	})
}
