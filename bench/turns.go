package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// turns replays a recorded turn, its 14 deltas repeated, in several sessions at once, and counts what comes out at a socket that follows
// everything.
func turns(opts *options) error {
	const sessions = 8
	t := newTable("Turns of a recorded app-server stream, 8 sessions at once, one socket following all",
		"store", "lines per turn", "turns/s", "lines/s", "frames/s at the socket", "server CPU µs per line")
	for _, e := range opts.engines() {
		for _, repeat := range []int{1, 100} {
			running, err := serve(opts, e)
			if err != nil {
				return err
			}
			if err := playTurns(opts, t, e, running, sessions, repeat); err != nil {
				return err
			}
			running.stop()
		}
	}
	t.print()
	return nil
}

func playTurns(opts *options, t *table, e engine, running *server, sessions, repeat int) error {
	ids := make([]string, sessions)
	for i := range ids {
		var err error
		if ids[i], err = running.newSession(); err != nil {
			return err
		}
	}
	watcher, err := newWatcher(running.url)
	if err != nil {
		return err
	}
	defer watcher.close()
	lines := len(replay("t", "u", repeat))
	got, err := drive(sessions, max(2*opts.length, 4*time.Second), running.cpu, func(client int) (func(int) error, func(), error) {
		c, err := dial(running.url)
		if err != nil {
			return nil, nil, err
		}
		send := request("POST", "/api/sessions/"+ids[client]+"/messages", fmt.Sprintf(`{"text":"%d"}`, repeat))
		return func(int) error {
			body, err := c.body(send)
			if err != nil {
				return err
			}
			var started struct{ TurnID string }
			if err := json.Unmarshal(body, &started); err != nil {
				return err
			}
			return watcher.wait(started.TurnID, 30*time.Second)
		}, c.close, nil
	})
	if err != nil {
		return fmt.Errorf("%w (%s)", err, strings.TrimSpace(watcher.state()))
	}
	perLine := got.perSecond * float64(lines)
	t.add(e.name, lines, got.perSecond, perLine, watcher.rate(), got.cpu/float64(lines))
	return nil
}
