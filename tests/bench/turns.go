package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// turns replays a recorded turn with its 14 deltas repeated, in several sessions concurrently. It counts the frames
// on a socket that follows everything.
func turns(opts *options) error {
	t := newTable("Turns of a recorded app-server stream, 8 sessions at once, one socket following all",
		"store", "lines per turn", "turns/s", "lines/s", "frames/s at the socket", "server CPU µs per line")
	for _, e := range opts.engines() {
		for _, repeat := range []int{1, 100} {
			running, err := serve(opts, e)
			if err != nil {
				return err
			}
			got, frames, err := turnLoad(opts, running, repeat)
			if err != nil {
				return err
			}
			lines := len(replay("t", "u", repeat))
			t.add(e.name, lines, got.perSecond, got.perSecond*float64(lines), frames, got.cpu/float64(lines))
			running.stop()
		}
	}
	t.print()
	return nil
}

// turnLoad plays turns in 8 sessions concurrently. frames is the rate per second on one socket that follows all of
// them.
func turnLoad(opts *options, running *server, repeat int) (got rate, frames float64, err error) {
	const sessions = 8
	ids := make([]string, sessions)
	for i := range ids {
		if ids[i], err = running.newSession(); err != nil {
			return got, 0, err
		}
	}
	watcher, err := newWatcher(running.url)
	if err != nil {
		return got, 0, err
	}
	defer watcher.close()
	got, err = drive(sessions, max(2*opts.length, 4*time.Second), running.cpu,
		func(client int) (func(int) error, func(), error) {
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
		return got, 0, fmt.Errorf("%w (%s)", err, strings.TrimSpace(watcher.state()))
	}
	return got, watcher.rate(), nil
}
