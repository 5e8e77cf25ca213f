//go:build cluster && linux

package cluster_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"harness/tests/dbtest"
)

// Patroni, set up according to deploy/postgres/patroni.yml, replaces a lost machine with the primary on it. Nothing
// acknowledged is lost, a turn continues throughout, and the machine becomes a standby when it returns.
func TestPatroniReplacesLostPrimary(t *testing.T) {
	t.Parallel()
	tool, err := exec.Command("../../../scripts/patroni-tool.sh").Output()
	if err != nil {
		t.Fatalf("Patroni is missing (%v); scripts/setup-test.sh brings it", err)
	}
	recipe, err := os.ReadFile("../../../deploy/postgres/patroni.yml")
	if err != nil {
		t.Fatal(err)
	}
	db := dbtest.NewPatroni(t, strings.TrimSpace(string(tool)), string(recipe))
	p := newTrioOn(t, time.Minute, "", [3]string{db.URL(), db.URL(), db.URL()}, db.URL())
	wrote := p.keepWriting()
	p.awaitAll(wrote, time.Time{}, 0, 1, 2)
	turn := p.send(p.session(), "MOCK_HOLD[on]")
	if err := p.siteA.Model.WaitHeld(t.Context(), "on"); err != nil {
		t.Fatal(err)
	}
	lost, began := db.Primary(), time.Now()
	db.Lose(lost)
	db.Primary()
	promoted := time.Now()
	t.Logf("another machine is the primary %s after the loss; the nodes write %v after that",
		promoted.Sub(began).Round(time.Millisecond), p.awaitAll(wrote, promoted, 0, 1, 2))
	db.Start(lost)
	db.AwaitSync()
	t.Logf("the machine that was lost follows %s after the loss", time.Since(began).Round(time.Millisecond))
	p.siteA.Model.Release("on")
	p.eventually("does the turn end", func() bool { return p.turn(turn) != "inProgress" })
	if status := p.turn(turn); status != "completed" {
		p.violated("the turn is %s", status)
	}
	p.check(wrote)
	p.report()
}
