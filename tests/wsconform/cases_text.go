package wsconform

import (
	"fmt"
	"strings"
)

// greek is valid UTF-8 with characters of several lengths. broken is greek with a surrogate half in the middle.
const (
	greek  = "κόσμε"
	broken = greek + "\xed\xa0\x80edited"
)

// utf8Handling is sections 6.1 to 6.4: empty messages, characters split over fragments, and failing fast.
func utf8Handling() []Case {
	long := text(broken + strings.Repeat("x", 100))
	cut := 6 + len(greek) + 3
	cases := []Case{
		{ID: "6.1.1", Name: "an empty text", Steps: []Step{{Send: text("")}}},
		{ID: "6.1.2", Name: "three empty fragments",
			Steps: []Step{{Send: join(part(Text, false, ""), part(Continuation, false, ""), part(Continuation, true, ""))}}},
		{ID: "6.1.3", Name: "three fragments, only the middle one not empty", Steps: []Step{{
			Send: join(part(Text, false, ""), part(Continuation, false, "middle"), part(Continuation, true, "")),
			Want: anyText(),
		}}},
		{ID: "6.2.1", Name: "valid text", Steps: []Step{{Send: text("Hello-µ@ßöäüàá-UTF-8!!"), Want: anyText()}}},
		{ID: "6.2.2", Name: "valid text, split between characters", Steps: []Step{{
			Send: join(part(Text, false, "Hello-µ@ßöä"), part(Continuation, true, "üàá-UTF-8!!")), Want: anyText(),
		}}},
		{ID: "6.2.3", Name: "valid text, one byte a fragment",
			Steps: []Step{{Send: fragments(Text, "Hello-µ@ßöäüàá-UTF-8!!", 1), Want: anyText()}}},
		{ID: "6.2.4", Name: "valid text of three-byte characters, one byte a fragment",
			Steps: []Step{{Send: fragments(Text, greek, 1), Want: anyText()}}},
		fails("6.3.1", "invalid text", 1007, text(broken)),
		fails("6.3.2", "invalid text, one byte a fragment", 1007, fragments(Text, broken, 1)),
		{ID: "6.3.3", Name: "the same bytes are fine in a binary message",
			Steps: []Step{{Send: frame(Binary, broken), Want: anyText()}}},
		// The server refuses a message that cannot become valid before it ends.
		{ID: "6.4.1", Name: "invalid in the second of three fragments", Failed: true, Steps: []Step{
			{Send: part(Text, false, greek)}, {Send: part(Continuation, false, "\xf4\x90\x80\x80"), Want: wantClose(1007)},
		}},
		{ID: "6.4.2", Name: "invalid at the second byte of a character", Failed: true, Steps: []Step{
			{Send: part(Text, false, greek+"\xf4")}, {Send: part(Continuation, false, "\x90"), Want: wantClose(1007)},
		}},
		{ID: "6.4.3", Name: "invalid inside a frame that is still coming", Failed: true, Rest: long[cut:], Steps: []Step{
			{Send: long[:cut], Want: wantClose(1007)},
		}},
		{ID: "6.4.4", Name: "the same, byte by byte", Failed: true, Rest: long[cut:], Steps: []Step{
			{Send: long[:cut], Chop: 1, Want: wantClose(1007)},
		}},
		fails("6.4.5", "a message that ends inside a character", 1007, text(greek+"\xce")),
		fails("6.4.6", "a fragmented message that ends inside a character", 1007,
			join(part(Text, false, "a"), part(Continuation, true, "\xe2\x82"))),
	}
	return cases
}

// utf8Sequences is sections 6.5 to 6.23: single sequences from the edges of every range, as in the known stress test.
func utf8Sequences() []Case {
	var cases []Case
	for i, valid := range []string{
		"\x00", "\x7f", "\u0080", "\u07ff", "\u0800", "\uffff", "\U00010000", "\U0010ffff", "\ud7ff", "\ue000", "\ufffd",
		"\ufdd0", "\ufeff", "\ufffe", "\U0001fffe", "\U0001ffff", "\U0002fffe", "\U000ffffe", "\U000fffff",
		"\U0010fffe", greek, "A\u2262\u0391\u002e", "\ud55c\uad6d\uc5b4", "\u65e5\u672c\u8a9e", "\U000233b4",
	} {
		cases = append(cases, Case{
			ID: fmt.Sprintf("6.5.%d", i+1), Name: fmt.Sprintf("valid %+q", valid),
			Steps: []Step{{Send: text(valid), Want: anyText()}},
		})
	}
	for i, invalid := range []string{
		// Continuation bytes without a first byte.
		"\x80", "\xbf", "\x80\xbf", "\x80\xbf\x80\xbf\x80\xbf",
		// First bytes without continuation bytes.
		"\xc2", "\xdf ", "\xe0 ", "\xef ", "\xf0 ", "\xf4 ", "\xc2\x20\xc3\x20",
		// Sequences that lack one byte.
		"\xe0\xa0", "\xef\xbf", "\xf0\x90\x80", "\xf4\x8f\xbf", "\xe1\x80\xe2\xf0\x91\x92\xf1\xbf",
		// Bytes that never occur.
		"\xfe", "\xff", "\xfe\xfe\xff\xff", "\xc0", "\xc1", "\xf5\x80\x80\x80",
		// Overlong encodings.
		"\xc0\xaf", "\xe0\x80\xaf", "\xf0\x80\x80\xaf", "\xf8\x80\x80\x80\xaf", "\xfc\x80\x80\x80\x80\xaf", "\xc1\xbf",
		"\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xc0\x80", "\xe0\x80\x80", "\xf0\x80\x80\x80", "\xf8\x80\x80\x80\x80",
		"\xfc\x80\x80\x80\x80\x80",
		// Surrogate halves and pairs of them.
		"\xed\xa0\x80", "\xed\xad\xbf", "\xed\xae\x80", "\xed\xaf\xbf", "\xed\xb0\x80", "\xed\xbe\x80", "\xed\xbf\xbf",
		"\xed\xa0\x80\xed\xb0\x80", "\xed\xaf\xbf\xed\xbf\xbf",
		// Beyond the last character.
		"\xf4\x90\x80\x80", "\xf7\xbf\xbf\xbf", "\xf8\x88\x80\x80\x80", "\xfb\xbf\xbf\xbf\xbf", "\xfc\x84\x80\x80\x80\x80",
		"\xfd\xbf\xbf\xbf\xbf\xbf",
	} {
		cases = append(cases, fails(fmt.Sprintf("6.6.%d", i+1), fmt.Sprintf("invalid %+q", invalid), 1007, text("a"+invalid)))
	}
	return cases
}

// closeHandling is sections 7.1 to 7.5.
func closeHandling() []Case {
	return []Case{
		{ID: "7.1.1", Name: "a message, then close", Steps: []Step{
			{Send: text(pingCommand), Want: wantText(pongAnswer)}, {Send: closing(1000, ""), Want: wantClose(1000)},
		}},
		{ID: "7.1.2", Name: "two close frames",
			Steps: []Step{{Send: join(closing(1000, ""), closing(1000, "")), Want: wantClose(1000)}}},
		{ID: "7.1.3", Name: "a ping after close",
			Steps: []Step{{Send: join(closing(1000, ""), frame(Ping, "")), Want: wantClose(1000)}}},
		{ID: "7.1.4", Name: "a message after close",
			Steps: []Step{{Send: join(closing(1000, ""), text(pingCommand)), Want: wantClose(1000)}}},
		{ID: "7.1.5", Name: "a continuation after close",
			Steps: []Step{{Send: join(part(Text, false, "a"), closing(1000, ""), part(Continuation, true, "b")),
				Want: wantClose(1000)}}},
		{ID: "7.1.6", Name: "256 KiB, close, a ping", Steps: []Step{{
			// The close may replace a response that the server has not started to send.
			Send: join(text(command(256<<10)), closing(1000, ""), frame(Ping, "")),
			Want: []Want{{Opcode: Text, Payload: []byte(pongAnswer), Optional: true}, {Opcode: CloseFrame, Code: 1000}},
		}}},
		{ID: "7.3.1", Name: "close without payload",
			Steps: []Step{{Send: frame(CloseFrame, ""), Want: []Want{{Opcode: CloseFrame, Payload: []byte{}, Code: 1005}}}}},
		fails("7.3.2", "close with one byte", 1002, frame(CloseFrame, "a")),
		{ID: "7.3.3", Name: "close with a code", Steps: []Step{{Send: closing(1000, ""), Want: wantClose(1000)}}},
		{ID: "7.3.4", Name: "close with a reason",
			Steps: []Step{{Send: closing(1000, "Hello World!"), Want: wantClose(1000)}}},
		{ID: "7.3.5", Name: "close with the longest reason",
			Steps: []Step{{Send: closing(1000, strings.Repeat("*", 123)), Want: wantClose(1000)}}},
		fails("7.3.6", "close with too long a reason", 1002, closing(1000, strings.Repeat("*", 124))),
		fails("7.3.7", "a close in two fragments", 1002,
			join(part(CloseFrame, false, "\x03\xe8"), part(Continuation, true, ""))),
		{ID: "7.5.0", Name: "close with a reason that is UTF-8",
			Steps: []Step{{Send: closing(1000, greek), Want: wantClose(1000)}}},
		fails("7.5.1", "close with a reason that is no UTF-8", 1007, closing(1000, broken)),
	}
}

// closeCodes is sections 7.7 to 7.13.
func closeCodes() []Case {
	var cases []Case
	for i, code := range []int{1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999,
		4000, 4999} {
		cases = append(cases, Case{
			ID: fmt.Sprintf("7.7.%d", i+1), Name: fmt.Sprintf("close code %d", code),
			Steps: []Step{{Send: closing(code, ""), Want: wantClose(code)}},
		}, Case{
			ID: fmt.Sprintf("7.8.%d", i+1), Name: fmt.Sprintf("close code %d with a reason", code),
			Steps: []Step{{Send: closing(code, "reason"), Want: wantClose(code)}},
		})
	}
	for i, code := range []int{0, 1, 500, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 9999, 65535} {
		cases = append(cases,
			fails(fmt.Sprintf("7.9.%d", i+1), fmt.Sprintf("close code %d, which may not be sent", code), 1002,
				closing(code, "")),
			fails(fmt.Sprintf("7.10.%d", i+1), fmt.Sprintf("close code %d, which may not be sent, with a reason", code), 1002,
				closing(code, "reason")))
	}
	return cases
}
