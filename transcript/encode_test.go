package transcript_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"harness/transcript"
)

// An entry on the wire equals the output of encoding/json, byte for byte.
func FuzzEntryJSON(f *testing.F) {
	f.Add("plain", "details", int64(0), true)
	f.Add("\x00\x01\b\f\n\r\t\x1f\x7f\"\\/<>&\u2028\u2029é😀\xff\xc3", "", int64(-1), false)
	f.Add("\xe2\x80", "\xe2\x80\xa8", int64(1<<53), true)
	f.Fuzz(func(t *testing.T, text, details string, at int64, all bool) {
		entry := transcript.Entry{MessageID: details, TurnID: text, Role: "user", Type: text, Content: text + details,
			Status: transcript.Complete}
		if all {
			entry.Details, entry.StartedAt, entry.CompletedAt = &details, &at, &at
		}
		plain := func(value any) string {
			var out bytes.Buffer
			encoder := json.NewEncoder(&out)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(value); err != nil {
				t.Fatal(err)
			}
			return string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
		}
		updated, from := entry.AppendUpdate(nil, details)
		if got, want := string(updated), plain(struct {
			ThreadID  string           `json:"threadId"`
			TurnID    string           `json:"turnId"`
			MessageID string           `json:"messageId"`
			Type      string           `json:"type"`
			Entry     transcript.Entry `json:"entry"`
		}{details, entry.TurnID, entry.MessageID, entry.Type, entry}); got != want {
			t.Errorf("update:\ngot  %s\nwant %s", got, want)
		}
		if got, want := string(transcript.AppendAnswer(nil, details, updated[from:len(updated)-1])), plain(struct {
			Status    string           `json:"status"`
			SessionID string           `json:"sessionId"`
			Entry     transcript.Entry `json:"entry"`
		}{"ok", details, entry}); got != want {
			t.Errorf("answer:\ngot  %s\nwant %s", got, want)
		}
		alone := json.RawMessage(entry.AppendJSON(nil))
		if got, want := string(transcript.AppendAnswers(nil, details, []json.RawMessage{alone, alone})), plain(struct {
			Status    string             `json:"status"`
			SessionID string             `json:"sessionId"`
			Entries   []transcript.Entry `json:"entries"`
		}{"ok", details, []transcript.Entry{entry, entry}}); got != want {
			t.Errorf("answer of many:\ngot  %s\nwant %s", got, want)
		}
	})
}

// An entry without its details has their length; an entry that never had details is unchanged.
func TestDetailsAreLeftOut(t *testing.T) {
	t.Parallel()
	details := `{"command":"ls"}`
	for _, e := range []transcript.Entry{
		{MessageID: "m", Details: &details, Status: transcript.Complete},
		{MessageID: "m", Source: &transcript.Source{Details: [][]byte{[]byte(details)}}, Status: transcript.Complete},
		{MessageID: "m", Status: transcript.Complete},
	} {
		whole := e.Whole()
		length := 0
		if whole.Details != nil {
			length = len(*whole.Details)
		}
		e.OmitDetails()
		got := string(e.AppendJSON(nil))
		said := strings.Contains(got, fmt.Sprintf(`"detailsBytes":%d}`, length))
		if strings.Contains(got, `"details":`) || said != (length > 0) {
			t.Errorf("of %d bytes: %s", length, got)
		}
	}
}
