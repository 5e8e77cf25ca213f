package codex

import (
	"encoding/json"
	"testing"

	"harness/runtime"
)

// A login is a page and a code for a person; an answer without is none.
func TestALoginHasAPageAndACode(t *testing.T) {
	t.Parallel()
	login, err := loginOf(json.RawMessage(`{"type":"chatgptDeviceCode","loginId":"l","verificationUrl":"https://example.com/device","userCode":"AB-12"}`))
	if want := (runtime.Login{ID: "l", URL: "https://example.com/device", Code: "AB-12"}); err != nil || login != want {
		t.Errorf("got %+v, %v", login, err)
	}
	for _, odd := range []string{`{}`, `{"loginId":"l","verificationUrl":"https://example.com"}`, `[]`} {
		if login, err := loginOf(json.RawMessage(odd)); err == nil {
			t.Errorf("%s is taken for %+v", odd, login)
		}
	}
}
