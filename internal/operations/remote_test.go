package operations_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"harness/internal/operations"
	"harness/internal/platform/cluster/forward"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// An error that another node reports is classified as it was there.
func TestAnErrorOfAnotherNodeKeepsItsMeaning(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		fmt.Errorf("send: %w", session.ErrQueuedNotFound),
		&forward.UnreachableError{NodeID: "b", RetryAfter: 3 * time.Second, Cause: io.EOF},
		&runtime.Error{Runtime: "codex", Code: -32000, Message: "no", Kind: runtime.ErrInvalidState},
		&session.NotOwnerError{SessionID: "s", Owner: "c", Node: "b"},
		io.EOF,
	} {
		text, encoding := json.Marshal(operations.Remote(err))
		var got operations.RemoteError
		if encoding != nil || json.Unmarshal(text, &got) != nil {
			t.Fatalf("%s, %v", text, encoding)
		}
		here, there := operations.Classify(err), operations.Classify(fmt.Errorf("asked: %w", &got))
		if there.Code != here.Code || there.Message != here.Message || there.Retry != here.Retry || there.RetryAfter != here.RetryAfter ||
			(there.Native == nil) != (here.Native == nil) || here.Native != nil && there.Native.Code != here.Native.Code {
			t.Errorf("%v is %+v here, and %+v of another node", err, here, there)
		}
		if here.Code != operations.CodeInternal && !errors.Is(&got, err) || errors.Is(&got, session.ErrNoActiveTurn) {
			t.Errorf("%v of another node is taken for another error", err)
		}
	}
}
