package dbtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Backup is a base backup of a Pair's primary, with the log that it archives after the backup. It can restore a point
// in time. The Pair must have the setting archive_mode=on.
type Backup struct {
	pair      *Pair
	base, log string
}

// BaseBackup makes a Backup while the primary runs.
func (p *Pair) BaseBackup() *Backup {
	p.t.Helper()
	dir, err := os.MkdirTemp("", "harness-backup-")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	credential, err := unprivileged(dir)
	if err != nil {
		p.t.Fatal(err)
	}
	b := &Backup{pair: p, base: filepath.Join(dir, "base"), log: filepath.Join(dir, "wal")}
	run := func(name string, args ...string) {
		p.t.Helper()
		if out, err := command(credential, name, args...).CombinedOutput(); err != nil {
			p.t.Fatalf("make a base backup: %v\n%s", err, out)
		}
	}
	run("mkdir", b.log)
	p.Do(fmt.Sprintf(`alter system set archive_command = 'test ! -f %s/%%f && cp %%p %[1]s/%%f'`, b.log))
	p.Do(`select pg_reload_conf()`)
	run(filepath.Join(p.bin, "pg_basebackup"), "-D", b.base, "-d", p.URL(p.primary), "-X", "none", "-c", "fast")
	return b
}

// Restore starts a server with everything committed before a point in time, and returns its URL.
func (b *Backup) Restore(at time.Time) string {
	b.pair.t.Helper()
	return b.pair.promoted(func(credential *syscall.Credential, data string) *exec.Cmd {
		settings := fmt.Sprintf("restore_command = 'cp %s/%%f \"%%p\"'\nrecovery_target_time = '%s'\nrecovery_target_action = 'promote'\n",
			b.log, pointInTime(at))
		const copied = `cp -a "$0" "$1" && printf '%s' "$2" >>"$1/postgresql.auto.conf" && touch "$1/recovery.signal"`
		return command(credential, "/bin/sh", "-c", copied, b.base, data, settings)
	})
}

// pointInTime formats a time for Postgres.
func pointInTime(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05.000000-07") }

// promoted starts a server on files that a command restores, once the whole log is archived, and returns its URL. The
// server archives nothing and waits for no standby.
func (p *Pair) promoted(files func(credential *syscall.Credential, data string) *exec.Cmd) string {
	p.t.Helper()
	p.Do(`create table backup_ends (id int)`) // so that there is a log to switch
	p.Do(`select pg_switch_wal()`)
	p.await("is the log archived", `select not exists (select 1 from pg_ls_dir('pg_wal/archive_status') as f where f like '%.ready')`)
	m := p.start(0, func(credential *syscall.Credential, data string) error {
		restore := files(credential, data)
		alone := exec.Command("/bin/sh", append([]string{"-c", `"$@" && printf '%s' "$0" >>"${PGDATA:?}/postgresql.auto.conf"`,
			"synchronous_standby_names = ''\narchive_command = '/bin/true'\n"}, restore.Args...)...)
		alone.Dir, alone.SysProcAttr, alone.Env = restore.Dir, restore.SysProcAttr, append(os.Environ(), "PGDATA="+data)
		return ran(alone)
	})
	p.t.Cleanup(m.end)
	if err := ask(m.url(), func(ctx context.Context, conn *pgx.Conn) error {
		return until(ctx, conn, "is it promoted", `select not pg_is_in_recovery()`)
	}); err != nil {
		log, _ := os.ReadFile(filepath.Join(m.dir, "log"))
		p.t.Fatalf("the restored Postgres takes no writes: %v\n%s", err, log)
	}
	return m.url()
}
