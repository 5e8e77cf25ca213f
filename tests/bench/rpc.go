package main

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	rpcSockets = 1000
	rpcRounds  = 3
	rpcBar     = 1.3
)

// jsonRPC measures both kinds of sockets in turn on one server, under the same machine conditions.
func jsonRPC(opts *options) error {
	fmt.Printf("\n## JSON-RPC: %d sockets that watch one session, CPU per notification against /api/stream\n\n",
		rpcSockets)
	running, target, err := product(opts, "HARNESS_LIMITS=streams-per-address=0,rpc-rate=0")
	if err != nil {
		return err
	}
	defer running.stop()
	ways := []struct {
		name string
		join func() (*clientGroup, error)
	}{
		{"/api/stream", func() (*clientGroup, error) { return join(running.url, rpcSockets, "?threadId="+running.session) }},
		{"/rpc", func() (*clientGroup, error) { return joinRPC(running.url, running.session, rpcSockets) }},
	}
	worst := 0.0
	for _, l := range loads {
		var ratios, costs [2][]float64
		for range rpcRounds {
			for i, way := range ways {
				if target.group, err = way.join(); err != nil {
					return fmt.Errorf("%s: %w", way.name, err)
				}
				got, err := target.run(l, opts.length)
				target.group.close()
				if err != nil {
					return fmt.Errorf("%s, %s: %w", way.name, l.name, err)
				}
				costs[i] = append(costs[i], got.cpu)
			}
			last := len(costs[0]) - 1
			ratios[0] = append(ratios[0], costs[1][last]/costs[0][last])
		}
		slices.Sort(ratios[0])
		ratio := ratios[0][rpcRounds/2]
		worst = max(worst, ratio)
		fmt.Printf("%-12s stream %.2f us, rpc %.2f us, ratio %.2f (%.2f to %.2f)\n", l.name, costs[0][0], costs[1][0], ratio,
			ratios[0][0], ratios[0][rpcRounds-1])
	}
	if worst > rpcBar {
		return fmt.Errorf("a notification costs %.2f times the stream's, more than %.1f", worst, rpcBar)
	}
	return nil
}

// joinRPC opens n sockets that receive the stream's frames of one session.
func joinRPC(base, session string, n int) (*clientGroup, error) {
	c, err := join(base, n, "/rpc")
	if err != nil {
		return nil, err
	}
	for _, s := range c.sockets {
		for _, text := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"notifications":["event/harness"]}}}`,
			`{"jsonrpc":"2.0","id":2,"method":"session/watch","params":{"session_id":"` + session + `"}}`,
		} {
			if err := s.say(text); err != nil {
				return nil, err
			}
		}
	}
	// The responses to initialize are as long as events. The responses to watch are shorter and arrive quickly.
	if err := c.wait(1, 20*time.Second); err != nil {
		return nil, err
	}
	time.Sleep(500 * time.Millisecond)
	return c, nil
}

// say sends a text, masked with zeros.
func (s *socket) say(text string) error {
	frame := []byte{0x81, 0x80 | 126}
	frame = binary.BigEndian.AppendUint16(frame, uint16(len(text))) //nolint:gosec // a command is short
	frame = append(append(frame, 0, 0, 0, 0), text...)
	_, err := unix.Write(s.fd, frame)
	return err
}
