// Command watch prints the frames of one session, one per line: type, runtime method, turn. A client of /api/stream
// needs no more than this.
//
//	watch http://127.0.0.1:3001 SESSION-ID
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/coder/websocket"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: watch URL SESSION-ID")
		os.Exit(2)
	}
	if err := watch(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "watch:", err)
		os.Exit(1)
	}
}

func watch(ctx context.Context, server, session string) error {
	address := "ws" + strings.TrimPrefix(server, "http") + "/api/stream?threadId=" + session
	conn, _, err := websocket.Dial(ctx, address, nil)
	if err != nil {
		return fmt.Errorf("open the stream: %w", err)
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(-1)
	for {
		_, message, err := conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("the stream ended: %w", err)
		}
		var frame struct {
			Type    string
			Payload struct {
				Method string
				Params struct{ TurnID string }
			}
		}
		if err := json.Unmarshal(message, &frame); err != nil {
			return fmt.Errorf("a frame is no JSON: %w", err)
		}
		fmt.Println(frame.Type, frame.Payload.Method, frame.Payload.Params.TurnID)
	}
}
