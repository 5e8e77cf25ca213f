// Command follow prints the frames of a harness stream, one per line, and reconnects after the last frame it received.
//
//	go run ./docs/examples/follow                       every thread of http://127.0.0.1:3001
//	go run ./docs/examples/follow -thread SESSION_ID    one thread
//	go run ./docs/examples/follow -after 0              from the beginning
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/coder/websocket"
)

func main() {
	base := flag.String("url", "http://127.0.0.1:3001", "base URL of the server")
	thread := flag.String("thread", "", "session to follow; all when empty")
	after := flag.String("after", "latest", "position to resume after")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for cursor := *after; ctx.Err() == nil; {
		query := url.Values{"after": {cursor}}
		if *thread != "" {
			query.Set("threadId", *thread)
		}
		cursor = follow(ctx, "ws"+strings.TrimPrefix(*base, "http")+"/api/stream?"+query.Encode(), cursor)
		select { // the server is unreachable: reconnect from the last cursor
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// follow prints frames until the connection ends and returns the cursor to continue from.
func follow(ctx context.Context, address, cursor string) string {
	conn, _, err := websocket.Dial(ctx, address, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, "follow:", err)
		return cursor
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(-1)
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			fmt.Fprintln(os.Stderr, "follow:", err)
			return cursor
		}
		fmt.Println(string(data))
		var frame struct {
			Type    string
			Pos, To json.Number
		}
		if json.Unmarshal(data, &frame) != nil {
			continue
		}
		switch {
		case frame.Pos != "":
			cursor = string(frame.Pos)
		case frame.To != "" && (cursor == "latest" || frame.Type == "ahead"):
			cursor = string(frame.To) // the verdict; before a replay it must not count, or a cut in it would skip the rest
		}
	}
}
