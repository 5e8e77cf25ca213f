package codex

import (
	"strings"
	"testing"

	"harness/internal/runtime"
)

func TestTextOfDeltas(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][2]string{
		`{"method":"item/agentMessage/delta","params":{"threadId":"t","turnId":"u","itemId":"i","delta":"a \"b\" \\"}}`: {
			"item/agentMessage/delta", `"a \"b\" \\"`},
		` { "params" : { "delta" : "x" , "n":{"delta":[1,{"delta":"no"}]}, "threadId":"t","itemId":"delta"},"method":"item/plan/delta"}`: {
			"item/plan/delta", `"x"`},
		`{"method":"item/reasoning/textDelta","params":{"threadId":"t","itemId":"i","delta":"x","contentIndex":12}}`: {
			"item/reasoning/textDelta/12", `"x"`},
		`{"method":"item/reasoning/summaryTextDelta","params":{"threadId":"t","itemId":"i","delta":"","summaryIndex":0}}`: {
			"item/reasoning/summaryTextDelta/0", `""`},
		`{"method":"item/commandExecution/outputDelta","params":{"threadId":"t","itemId":"i","delta":"no","delta":"x"}}`: {
			"item/commandExecution/outputDelta", `"x"`},
		`{"method":"item/fileChange/outputDelta","params":{"threadId":"t","itemId":"i","delta":"x"}}`: {
			"item/fileChange/outputDelta", `"x"`},
		`{"method":"item/agentMessage/delta","params":{"threadId":"t","itemId":"i","delta":7}}`:       {},
		`{"method":"item/agentMessage/delta","params":{"threadId":"t","itemId":"i"}}`:                 {},
		`{"method":"item/agentMessage/delta","params":{"threadId":"t","delta":"x"}}`:                  {},
		`{"method":"item/agentMessage/delta","params":{"itemId":"i","delta":"x"}}`:                    {},
		`{"method":"item/agentMessage/delta","params":[]}`:                                            {},
		`{"method":"command/exec/outputDelta","params":{"threadId":"t","itemId":"i","delta":"eA=="}}`: {},
	} {
		got, is := classified(t, line).Change.(runtime.TextDelta)
		if want[0] == "" {
			if is {
				t.Errorf("%s is taken for text: %+v", line, got)
			}
			continue
		}
		if !is || got.Key != want[0] || line[got.Start:got.End] != want[1] {
			t.Errorf("%s\n%+v, text %q", line, got, line[got.Start:max(got.Start, got.End)])
		}
		if want := intoOf[strings.TrimRight(got.Key, "/0123456789")]; strings.TrimRight(got.Into, "/0123456789") != want ||
			strings.HasSuffix(got.Key, "/12") != strings.HasSuffix(got.Into, "/12") {
			t.Errorf("%s goes into %q, want %q", line, got.Into, want)
		}
		if got.Outlives != strings.Contains(line, "commandExecution") {
			t.Errorf("%s outlives its turn: %v", line, got.Outlives)
		}
	}
}

// intoOf is the place of a delta's text in the finished item of real codex.
var intoOf = map[string]string{
	"item/agentMessage/delta": "content", "item/plan/delta": "content", "item/reasoning/textDelta": "details/content",
	"item/reasoning/summaryTextDelta": "details/summary", "item/commandExecution/outputDelta": "details/aggregatedOutput",
}
