package manager

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session/entryof"
	"harness/internal/services/session/items"
	"harness/transcript"
)

// keptImages stores images by number; it does not store empty ones.
type keptImages struct{ sessions, contents []string }

func (k *keptImages) KeepImage(_ context.Context, _ database.Tx, sessionID string, content []byte) (string, error) {
	if strings.Contains(string(content), "too long") {
		return "", nil
	}
	k.sessions, k.contents = append(k.sessions, sessionID), append(k.contents, string(content))
	return fmt.Sprint("image-", len(k.contents)), nil
}

// The content of an entry names each stored image in its original position, or after a tool's text. An image that is
// not stored keeps its previous name. The same holds for a history from elsewhere.
func TestEntriesNameTheirImages(t *testing.T) {
	t.Parallel()
	url := func(what string) string {
		return "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"+what+strings.Repeat(".", 60)))
	}
	long := strings.Repeat("x", runtime.LongItem)
	for name, test := range map[string]struct{ item, want string }{
		"of a person": {`{"type":"userMessage","id":"1","content":[{"type":"text","text":"a"},{"type":"image","url":"` + url("one") +
			`"},{"type":"text","text":"b"},{"type":"image","url":"` + url("two") + `"}]}`,
			"a\n[image] /api/sessions/s/images/image-1\nb\n[image] /api/sessions/s/images/image-2"},
		"of a tool": {`{"type":"mcpToolCall","id":"1","server":"m","tool":"t","status":"completed","result":{"content":[{"url":"` +
			url("one") + `"}]}}`, "Tool m/t completed\n[image] /api/sessions/s/images/image-1"},
		"that is not kept": {`{"type":"userMessage","id":"1","content":[{"type":"image","url":"` + url("too long") + `"}]}`,
			"[image] data:image/png;base64, 76 bytes"},
		"beside a long text": {`{"type":"userMessage","id":"1","content":[{"type":"text","text":"` + long + `"},{"type":"image","url":"` +
			url("one") + `"}]}`, long + "\n[image] /api/sessions/s/images/image-1"},
	} {
		item, ok := wire.ReadItem(json.RawMessage(test.item))
		if !ok {
			t.Fatal(test.item)
		}
		kept := &keptImages{}
		stored := items.New(items.Options{Images: kept})
		entry := entryof.Item("t", runtime.ItemChanged{Item: item, Done: true}, 1)
		if err := stored.ShowImages(t.Context(), nil, "s", &entry, item); err != nil {
			t.Fatal(err)
		}
		if got := entry.Whole().Content; got != test.want {
			t.Errorf("%s: the entry says %.200q, not %.200q", name, tail200(got), tail200(test.want))
		}
		kept = &keptImages{}
		s := &importer{options: importerOptions{Items: items.New(items.Options{Images: kept})}}
		turns, err := s.importedTurns(t.Context(), nil, "s", []runtime.Turn{{ID: "t", Items: []runtime.Item{item}}})
		if err != nil || turns[0].Entries[0].Content != test.want || turns[0].Entries[0].Status != transcript.Complete {
			t.Errorf("%s: the imported entry says %.200q: %v", name, tail200(turns[0].Entries[0].Content), err)
		}
		for _, session := range kept.sessions {
			if session != "s" {
				t.Errorf("%s is kept for %s", name, session)
			}
		}
	}
}

func tail200(text string) string { return text[max(0, len(text)-200):] }
