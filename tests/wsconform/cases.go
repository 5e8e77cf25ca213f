package wsconform

import (
	"fmt"
	"strings"
)

// Cases returns cases for sections 1 to 7, 9 and 10 of the Autobahn suite. limit is the largest message that the
// server accepts, in bytes.
func Cases(limit int) []Case {
	var all []Case
	for _, section := range [][]Case{
		framing(), pings(), reserved(), opcodes(), fragmentation(), utf8Handling(), utf8Sequences(), closeHandling(),
		closeCodes(), limits(limit),
	} {
		all = append(all, section...)
	}
	return all
}

// command returns the ping command, padded to a length with spaces, which JSON allows.
func command(length int) string { return pingCommand + strings.Repeat(" ", length-len(pingCommand)) }

// fails returns a case in which the server must fail the connection.
func fails(id, name string, code int, send []byte) Case {
	return Case{ID: id, Name: name, Failed: true, Steps: []Step{{Send: send, Want: wantClose(code)}}}
}

// framing is section 1: lengths around the three encodings, in text and binary messages.
func framing() []Case {
	var cases []Case
	for i, opcode := range []Opcode{Text, Binary} {
		for j, length := range []int{0, 15, 124, 125, 126, 127, 128, 65535, 65536, 65537} {
			c := Case{ID: fmt.Sprintf("1.%d.%d", i+1, j+1), Name: fmt.Sprintf("opcode %d with %d bytes", opcode, length)}
			if length == 0 {
				c.Steps = []Step{{Send: frame(opcode, "")}} // the server does not respond to an empty message
			} else {
				c.Steps = []Step{{Send: frame(opcode, command(length)), Want: wantText(pongAnswer)}}
			}
			cases = append(cases, c)
		}
		cases = append(cases, Case{
			ID: fmt.Sprintf("1.%d.11", i+1), Name: "65536 bytes in pieces of 997",
			Steps: []Step{{Send: frame(opcode, command(65536)), Chop: 997, Want: wantText(pongAnswer)}},
		}, Case{
			ID: fmt.Sprintf("1.%d.12", i+1), Name: "byte by byte",
			Steps: []Step{{Send: frame(opcode, pingCommand), Chop: 1, Want: wantText(pongAnswer)}},
		})
	}
	return append(cases,
		fails("1.3.1", "an unmasked text frame", 1002,
			EncodeUnmasked(Frame{Final: true, Opcode: Text, Payload: []byte(pingCommand)})),
		fails("1.3.2", "an unmasked ping", 1002, EncodeUnmasked(Frame{Final: true, Opcode: Ping})),
		fails("1.3.3", "an unmasked close", 1002,
			EncodeUnmasked(Frame{Final: true, Opcode: CloseFrame, Payload: ClosePayload(1000, "")})),
		fails("1.4.1", "a 64-bit length with the top bit set", 1002,
			append([]byte{0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 1}, 0, 0, 0, 0, 'x')),
	)
}

// pings is section 2.
func pings() []Case {
	big := strings.Repeat("\xfe", 125)
	var ten, tenWant = []byte(nil), []Want(nil)
	for i := range 10 {
		payload := fmt.Sprintf("payload-%d", i)
		ten, tenWant = append(ten, frame(Ping, payload)...), append(tenWant, wantPong(payload)...)
	}
	return []Case{
		{ID: "2.1", Name: "ping without payload", Steps: []Step{{Send: frame(Ping, ""), Want: wantPong("")}}},
		{ID: "2.2", Name: "ping with text",
			Steps: []Step{{Send: frame(Ping, "Hello, world!"), Want: wantPong("Hello, world!")}}},
		{ID: "2.3", Name: "ping with bytes that are no UTF-8",
			Steps: []Step{{Send: frame(Ping, "\x00\xff\xfe\xfd\xfc\xfb\x00\xff"),
				Want: wantPong("\x00\xff\xfe\xfd\xfc\xfb\x00\xff")}}},
		{ID: "2.4", Name: "ping with 125 bytes", Steps: []Step{{Send: frame(Ping, big), Want: wantPong(big)}}},
		fails("2.5", "ping with 126 bytes", 1002, frame(Ping, big+"\xfe")),
		{ID: "2.6", Name: "ping with 125 bytes, byte by byte",
			Steps: []Step{{Send: frame(Ping, big), Chop: 1, Want: wantPong(big)}}},
		{ID: "2.7", Name: "an unsolicited pong", Steps: []Step{{Send: frame(Pong, "")}}},
		{ID: "2.8", Name: "an unsolicited pong with payload", Steps: []Step{{Send: frame(Pong, "unsolicited")}}},
		{ID: "2.9", Name: "an unsolicited pong, then a ping",
			Steps: []Step{{Send: join(frame(Pong, "unsolicited"), frame(Ping, "asked")), Want: wantPong("asked")}}},
		{ID: "2.10", Name: "ten pings", Steps: []Step{{Send: ten, Want: tenWant}}},
		{ID: "2.11", Name: "ten pings, byte by byte", Steps: []Step{{Send: ten, Chop: 1, Want: tenWant}}},
		fails("2.12", "pong with 126 bytes", 1002, frame(Pong, big+"\xfe")),
	}
}

// reserved is section 3: every combination of the reserved bits on every kind of frame.
func reserved() []Case {
	var cases []Case
	kinds := []struct {
		name    string
		opcode  Opcode
		payload string
	}{{"text", Text, pingCommand}, {"binary", Binary, pingCommand}, {"ping", Ping, "x"}, {"pong", Pong, "x"},
		{"close", CloseFrame, "\x03\xe8"}}
	for i, kind := range kinds {
		for rsv := byte(1); rsv <= 7; rsv++ {
			bad := Encode(Frame{Final: true, RSV: rsv, Opcode: kind.opcode, Payload: []byte(kind.payload)})
			cases = append(cases,
				fails(fmt.Sprintf("3.%d.%d", i+1, rsv), fmt.Sprintf("%s with reserved bits %03b", kind.name, rsv), 1002, bad))
		}
	}
	after := Encode(Frame{Final: true, RSV: 4, Opcode: Text, Payload: []byte("x")})
	return append(cases,
		Case{ID: "3.6.1", Name: "a good message, then one with RSV1", Failed: true, Steps: []Step{
			{Send: text(pingCommand), Want: wantText(pongAnswer)}, {Send: after, Want: wantClose(1002)},
		}},
		Case{ID: "3.6.2", Name: "the same, byte by byte", Failed: true, Steps: []Step{
			{Send: text(pingCommand), Chop: 1, Want: wantText(pongAnswer)}, {Send: after, Chop: 1, Want: wantClose(1002)},
		}},
		fails("3.6.3", "RSV1 on a continuation", 1002,
			join(part(Text, false, pingCommand), Encode(Frame{Final: true, RSV: 4, Opcode: Continuation}))),
	)
}

// opcodes is section 4: the reserved ones, alone and after a good message.
func opcodes() []Case {
	var cases []Case
	for i, opcode := range []Opcode{3, 4, 5, 6, 7, 0xb, 0xc, 0xd, 0xe, 0xf} {
		section, n := 1+i/5, i%5+1
		cases = append(cases,
			fails(fmt.Sprintf("4.%d.%d", section, n), fmt.Sprintf("reserved opcode %d", opcode), 1002, frame(opcode, "")),
			fails(fmt.Sprintf("4.%d.%d", section, n+5), fmt.Sprintf("reserved opcode %d with payload", opcode), 1002,
				frame(opcode, "reserved opcode payload")),
			Case{ID: fmt.Sprintf("4.%d.%d", section, n+10), Name: fmt.Sprintf("reserved opcode %d after a message", opcode),
				Failed: true, Steps: []Step{
					{Send: text(pingCommand), Want: wantText(pongAnswer)},
					{Send: join(frame(opcode, ""), frame(Ping, "")), Want: wantClose(1002)},
				}})
	}
	return cases
}

// fragmentation is section 5.
func fragmentation() []Case {
	first, second := part(Text, false, `{"type":`), part(Continuation, true, `"ping"}`)
	middle := part(Continuation, false, `"pi`)
	last := part(Continuation, true, `ng"}`)
	pong := wantText(pongAnswer)
	withPing := append(wantPong("p"), pong...)
	return []Case{
		fails("5.1", "a ping in two fragments", 1002, join(part(Ping, false, "frag"), part(Continuation, true, "ment"))),
		fails("5.2", "a pong in two fragments", 1002, join(part(Pong, false, "frag"), part(Continuation, true, "ment"))),
		{ID: "5.3", Name: "a text message in two fragments", Steps: []Step{{Send: join(first, second), Want: pong}}},
		{ID: "5.4", Name: "the same, each frame on its own", Steps: []Step{{Send: first}, {Send: second, Want: pong}}},
		{ID: "5.5", Name: "the same, byte by byte", Steps: []Step{{Send: join(first, second), Chop: 1, Want: pong}}},
		{ID: "5.6", Name: "a ping between two fragments",
			Steps: []Step{{Send: join(first, frame(Ping, "p"), second), Want: withPing}}},
		{ID: "5.7", Name: "a ping between two fragments, each frame on its own", Steps: []Step{
			{Send: first}, {Send: frame(Ping, "p"), Want: wantPong("p")}, {Send: second, Want: pong},
		}},
		{ID: "5.8", Name: "a ping between two fragments, byte by byte",
			Steps: []Step{{Send: join(first, frame(Ping, "p"), second), Chop: 1, Want: withPing}}},
		fails("5.9", "a final continuation of nothing, then a message", 1002,
			join(part(Continuation, true, "x"), text(pingCommand))),
		fails("5.10", "the same, byte by byte", 1002, part(Continuation, true, "x")),
		fails("5.11", "an empty final continuation of nothing", 1002, part(Continuation, true, "")),
		fails("5.12", "a continuation of nothing that is not final", 1002,
			join(part(Continuation, false, "x"), text(pingCommand))),
		fails("5.13", "an empty continuation of nothing that is not final", 1002, part(Continuation, false, "")),
		{ID: "5.14", Name: "a continuation after a finished message", Failed: true, Steps: []Step{
			{Send: join(first, second), Want: pong}, {Send: part(Continuation, true, "x"), Want: wantClose(1002)},
		}},
		{ID: "5.15", Name: "a continuation that is not final after a finished message", Failed: true, Steps: []Step{
			{Send: join(first, second), Want: pong}, {Send: join(part(Continuation, false, "x"), text(pingCommand)),
				Want: wantClose(1002)},
		}},
		fails("5.16", "a continuation that is not final, then a message, twice", 1002,
			join(part(Continuation, false, "a"), part(Text, true, "b"), part(Continuation, false, "a"), part(Text, true, "b"))),
		fails("5.17", "a final continuation, then a message, twice", 1002,
			join(part(Continuation, true, "a"), part(Text, true, "b"), part(Continuation, true, "a"), part(Text, true, "b"))),
		fails("5.18", "a second message inside a fragmented one", 1002,
			join(part(Text, false, "fragment1"), part(Text, true, "fragment2"))),
		{ID: "5.19", Name: "three fragments with pings between them", Steps: []Step{{
			Send: join(first, frame(Ping, "1"), middle, frame(Ping, "2"), last),
			Want: append(append(wantPong("1"), wantPong("2")...), pong...),
		}}},
		{ID: "5.20", Name: "the same, byte by byte", Steps: []Step{{
			Send: join(first, frame(Ping, "1"), middle, frame(Ping, "2"), last), Chop: 1,
			Want: append(append(wantPong("1"), wantPong("2")...), pong...),
		}}},
		{ID: "5.21", Name: "a binary message in three fragments", Steps: []Step{{
			Send: join(part(Binary, false, `{"type":`), middle, last), Want: pong,
		}}},
		{ID: "5.22", Name: "empty fragments around a message", Steps: []Step{{
			Send: join(part(Text, false, ""), part(Continuation, false, pingCommand), part(Continuation, false, ""),
				part(Continuation, true, "")), Want: pong,
		}}},
		fails("5.23", "a binary message inside a fragmented text", 1002,
			join(part(Text, false, "a"), part(Binary, true, "b"))),
		{ID: "5.24", Name: "a close between two fragments",
			Steps: []Step{{Send: join(first, closing(1000, "")), Want: wantClose(1000)}}},
	}
}

// limits is sections 9 and 10: large messages, whole, fragmented and chopped, and many small ones.
func limits(limit int) []Case {
	pong := wantText(pongAnswer)
	var cases []Case
	for i, length := range []int{64 << 10, 256 << 10, 512 << 10, limit - 1, limit} {
		cases = append(cases,
			Case{ID: fmt.Sprintf("9.1.%d", i+1), Name: fmt.Sprintf("text of %d bytes", length),
				Steps: []Step{{Send: text(command(length)), Want: pong}}},
			Case{ID: fmt.Sprintf("9.2.%d", i+1), Name: fmt.Sprintf("binary of %d bytes", length),
				Steps: []Step{{Send: frame(Binary, command(length)), Want: pong}}})
	}
	for i, size := range []int{64, 1300, 4 << 10, 16 << 10, 64 << 10} {
		cases = append(cases,
			Case{ID: fmt.Sprintf("9.3.%d", i+1), Name: fmt.Sprintf("text of 256 KiB in fragments of %d", size),
				Steps: []Step{{Send: fragments(Text, command(256<<10), size), Want: pong}}},
			Case{ID: fmt.Sprintf("9.4.%d", i+1), Name: fmt.Sprintf("binary of 256 KiB in fragments of %d", size),
				Steps: []Step{{Send: fragments(Binary, command(256<<10), size), Want: pong}}},
			Case{ID: fmt.Sprintf("9.5.%d", i+1), Name: fmt.Sprintf("text of 256 KiB in segments of %d", size),
				Steps: []Step{{Send: text(command(256 << 10)), Chop: size, Want: pong}}})
	}
	var many []byte
	var answers []Want
	for range 500 {
		many, answers = append(many, text(pingCommand)...), append(answers, pong...)
	}
	return append(cases,
		fails("9.6.1", "one byte more than the limit", 1009, text(command(limit+1))),
		fails("9.6.2", "one byte more than the limit, in fragments", 1009, fragments(Text, command(limit+1), 64<<10)),
		fails("9.6.3", "16 MiB", 1009, frame(Binary, command(16<<20))),
		Case{ID: "9.7.1", Name: "500 small messages", Steps: []Step{{Send: many, Want: answers}}},
		Case{ID: "10.1.1", Name: "64 KiB in fragments of 1300 bytes",
			Steps: []Step{{Send: fragments(Text, command(65536), 1300), Want: pong}}},
	)
}

func fragments(opcode Opcode, payload string, size int) []byte {
	var out []byte
	for len(payload) > size {
		out, payload, opcode = append(out, part(opcode, false, payload[:size])...), payload[size:], Continuation
	}
	return append(out, part(opcode, true, payload)...)
}
