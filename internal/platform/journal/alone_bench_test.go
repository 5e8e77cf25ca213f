package journal_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/migrations"
	"harness/tests/dbtest"
)

// The events per second of one process that writes alone, for a number of sessions that each wait for their event. It
// also reports the ratio to another version: the median over short slices of both versions in turn. The disk is a real
// one. HARNESS_BEFORE names the other version: its test binary with this file (go test -c ./journal).
func BenchmarkAWriterAlone(b *testing.B) {
	heap := make([]byte, 24<<20) // of a server (collectLess)
	defer runtime.KeepAlive(heap)
	for _, engine := range dbtest.Engines() {
		for _, sessions := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s_%dsessions", engine, sessions), func(b *testing.B) {
				log := alone(b, engine)
				if os.Getenv("HARNESS_SLICES") != "" { // this is the other version's process
					for ask := bufio.NewScanner(os.Stdin); ask.Scan(); {
						fmt.Printf("\nslice %f\n", slice(b, log, sessions))
					}
					return
				}
				var other func() float64
				if before := os.Getenv("HARNESS_BEFORE"); before != "" {
					other = otherVersion(b, before)
				}
				var rates, ratios []float64
				for b.Loop() {
					for round := range 40 {
						var rate, before float64
						if other != nil && round%2 == 0 {
							before = other()
						}
						rate = slice(b, log, sessions)
						if other != nil && round%2 == 1 {
							before = other()
						}
						rates = append(rates, rate)
						if other != nil {
							ratios = append(ratios, rate/before)
						}
					}
				}
				b.ReportMetric(median(rates), "events/s")
				if other != nil {
					b.ReportMetric(median(ratios), "ratio")
				}
			})
		}
	}
}

// alone returns a journal on a store with no other writer.
func alone(b *testing.B, engine database.Engine) *journal.Journal {
	b.Helper()
	opts := database.Options{Path: filepath.Join(b.TempDir(), "harness.db"), Marker: migrations.Marker}
	if engine == database.Postgres {
		pair := dbtest.NewPair(b, "fsync=on", "full_page_writes=on", "shared_buffers=128MB")
		pair.Do(`alter system set synchronous_standby_names = ''`)
		pair.Do(`select pg_reload_conf()`)
		pair.Kill(pair.Standby())
		opts = database.Options{URL: pair.URL(pair.Primary())}
	}
	db := dbtest.Connect(b, opts)
	if _, err := migrations.Up(b.Context(), db, filepath.Join(b.TempDir(), "migrate.lock")); err != nil {
		b.Fatal(err)
	}
	log := journal.New(db, journal.Options{})
	if err := log.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := log.Stop(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return log
}

// slice returns how many events a second are stored over a short time.
func slice(b *testing.B, log *journal.Journal, sessions int) float64 {
	b.Helper()
	payload := []byte(`{"text":"` + strings.Repeat("x", 490) + `"}`)
	counts := make([]int, sessions)
	began := time.Now()
	var running sync.WaitGroup
	for i := range sessions {
		running.Go(func() {
			note := func(context.Context, database.Tx) ([]journal.Event, error) {
				return []journal.Event{{SessionID: fmt.Sprint(i), Type: "t", Payload: payload}}, nil
			}
			for ; time.Since(began) < 200*time.Millisecond; counts[i]++ {
				if _, err := log.Commit(context.Background(), note); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
	took, stored := time.Since(began), 0
	for _, n := range counts {
		stored += n
	}
	return float64(stored) / took.Seconds()
}

// otherVersion runs the same benchmark of another test binary, and returns a function that makes it run a slice.
func otherVersion(b *testing.B, binary string) func() float64 {
	b.Helper()
	name := strings.TrimSuffix(b.Name(), fmt.Sprintf("-%d", runtime.GOMAXPROCS(0)))
	other := exec.CommandContext(context.WithoutCancel(b.Context()), binary, "-test.run", "xxx", "-test.bench", "^"+strings.ReplaceAll(name, "/", "$/^")+"$",
		"-test.benchtime", "1x")
	other.Env, other.Stderr = append(os.Environ(), "HARNESS_SLICES=1"), os.Stderr
	in, err := other.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := other.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close() // it ends
		_, _ = io.Copy(io.Discard, out)
		if err := other.Wait(); err != nil {
			b.Errorf("the other version: %v", err)
		}
	})
	said := bufio.NewScanner(out)
	return func() (rate float64) {
		if _, err := io.WriteString(in, "go\n"); err != nil {
			b.Fatal(err)
		}
		for said.Scan() {
			if _, err := fmt.Sscanf(said.Text(), "slice %f", &rate); err == nil {
				return rate
			}
		}
		b.Fatal("the other version has ended")
		return 0
	}
}
