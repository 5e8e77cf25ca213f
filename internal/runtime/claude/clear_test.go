package claude_test

import (
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// A user who clears the conversation sees an item for that; later requests to the model omit the earlier messages.
func TestClearedConversationIsReported(t *testing.T) {
	t.Parallel()
	s := newStage(t, open(), nil)
	if end, _ := s.turn("MOCK_REPLY[the blue word]"); end.Status != runtime.TurnDone {
		t.Fatalf("the turn ended %+v", end)
	}
	if end, _ := s.turn("/clear"); end.Status != runtime.TurnDone {
		t.Errorf("clearing ended %+v", end)
	}
	item, ok := wire.ReadItem([]byte(s.itemOf(wire.ItemCleared)))
	if !ok || !strings.Contains(item.Content, "was cleared") {
		t.Errorf("the transcript says %q of it", item.Content)
	}
	if end, _ := s.turn("MOCK_REPLY[again]"); end.Status != runtime.TurnDone {
		t.Errorf("the turn after it ended %+v", end)
	}
	s.requireCleared("MOCK_REPLY[again]")
	if err := s.CloseThread(t.Context(), s.thread); err != nil { // its next process continues with the later messages
		t.Fatal(err)
	}
	if end, _ := s.turn("MOCK_REPLY[later]"); end.Status != runtime.TurnDone {
		t.Errorf("the turn of the next process ended %+v", end)
	}
	s.requireCleared("MOCK_REPLY[again]", "MOCK_REPLY[later]")
}

// requireCleared checks that the last request to the model has the messages after the clearing, and none before it.
func (s *stage) requireCleared(after ...string) {
	s.t.Helper()
	requests := s.model.Requests()
	last := string(requests[len(requests)-1].Body)
	if strings.Contains(last, "the blue word") {
		s.t.Error("the model gets what was cleared")
	}
	for _, text := range after {
		if !strings.Contains(last, text) {
			s.t.Errorf("the model does not get %s", text)
		}
	}
}

// itemOf returns the last complete item of a type, "" for none.
func (s *stage) itemOf(itemType string) (last string) {
	for _, signal := range s.Signals() {
		if change, is := signal.Change.(runtime.ItemChanged); is && change.Done && change.Item.Type == itemType {
			last = change.Item.Details
		}
	}
	return last
}
