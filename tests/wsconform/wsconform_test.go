package wsconform

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
)

// sloppy is a server that answers the handshake, greets, answers every text with a pong command and tolerates
// everything.
func sloppy(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			// It handles one case at a time: the table is short, and a case ends its connection.
			forgive(conn)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	return listener.Addr().String()
}

func forgive(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	reader := bufio.NewReader(conn)
	request, err := http.ReadRequest(reader)
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn,
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "+
			Accept(request.Header.Get("Sec-WebSocket-Key"))+"\r\n\r\n")
	_, _ = conn.Write(EncodeUnmasked(Frame{Final: true, Opcode: Text, Payload: []byte("hello")}))
	for {
		var head [2]byte
		if _, err := io.ReadFull(reader, head[:]); err != nil {
			return
		}
		rest := make([]byte, int(head[1]&0x7f)+4)
		if _, err := io.ReadFull(reader, rest); err != nil {
			return
		}
		for i := range rest[4:] {
			rest[4+i] ^= rest[i%4]
		}
		switch Opcode(head[0] & 0x0f) {
		case CloseFrame:
			_, _ = conn.Write(EncodeUnmasked(Frame{Final: true, Opcode: CloseFrame, Payload: rest[4:]}))
			return
		case Text:
			_, _ = conn.Write(EncodeUnmasked(Frame{Final: true, Opcode: Text, Payload: []byte(pongAnswer)}))
		}
	}
}

// A check that cannot fail proves nothing: a server that tolerates violations passes the good cases and none of the
// bad ones.
func TestAForgivingServerFails(t *testing.T) {
	t.Parallel()
	address := sloppy(t)
	for _, c := range []Case{
		{ID: "good", Steps: []Step{{Send: text(pingCommand), Want: wantText(pongAnswer)}}},
		{ID: "close", Steps: []Step{{Send: closing(1000, "bye"), Want: wantClose(1000)}}},
	} {
		if err := Run(address, "/", c); err != nil {
			t.Errorf("%s: %v", c.ID, err)
		}
	}
	for _, c := range []Case{
		fails("reserved bit", "", 1002, Encode(Frame{Final: true, RSV: 4, Opcode: Text, Payload: []byte("x")})),
		fails("invalid UTF-8", "", 1007, text("\xff")),
		fails("invalid close code", "", 1002, closing(1005, "")),
		{ID: "unwanted answer",
			Steps: []Step{{Send: text(""), Want: nil}, {Send: frame(CloseFrame, ""), Want: wantClose(1005)}}},
	} {
		if err := Run(address, "/", c); err == nil {
			t.Errorf("%s: a forgiving server passed", c.ID)
		}
	}
}

func TestTheTableNamesEachCaseOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range Cases(1 << 20) {
		if seen[c.ID] || c.Name == "" || len(c.Steps) == 0 {
			t.Errorf("case %q is there twice, has no name or does nothing", c.ID)
		}
		seen[c.ID] = true
	}
}

// Read checks the server's frames too.
func TestReadRefusesWhatAServerMayNotSend(t *testing.T) {
	t.Parallel()
	server, client := net.Pipe()
	defer func() { _ = client.Close() }()
	go func() {
		_, _ = server.Write(Encode(Frame{Final: true, Opcode: Text, Payload: []byte("masked")}))
		_ = server.Close()
	}()
	c := NewConn(client)
	if _, err := c.Read(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a masked frame passed: %v", err)
	}
}
