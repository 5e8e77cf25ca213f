package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"harness/tests/programtest"
)

// get reads a path with the client's version. body is nil for a 304.
func get(i *programtest.Server, path, version string) (status int, tag string, body programtest.Object) {
	i.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), programtest.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, i.URL+path, nil)
	if err != nil {
		i.T.Fatal(err)
	}
	if version != "" {
		request.Header.Set("If-None-Match", version)
	}
	response, err := i.Client().Do(request)
	if err != nil {
		i.T.Fatal(err)
	}
	raw, err := io.ReadAll(response.Body)
	if closed := response.Body.Close(); err != nil || closed != nil {
		i.T.Fatal(err, closed)
	}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &body); err != nil {
			i.T.Fatalf("%s answered %d %q", path, response.StatusCode, raw)
		}
	}
	return response.StatusCode, response.Header.Get("ETag"), body
}

// settle waits until a version of a response gets 304, and returns it. A newly started runtime reports its state of
// each session again. Until then, the response has other versions.
func settle(t *testing.T, server *programtest.Server, path string) (tag string) {
	t.Helper()
	for begun := time.Now(); ; {
		status, again, body := get(server, path, `"other", `+tag)
		if status == http.StatusNotModified && tag != "" && again == tag && body == nil {
			return tag
		}
		if status != http.StatusOK || tag != "" && again == tag || time.Since(begun) > programtest.Patience {
			t.Fatalf("%s of version %q is answered %d with version %q: %v", path, tag, status, again, body)
		}
		tag = again
	}
}

// A client reads a long transcript window by window and gets each entry of the whole once. A client with a current
// version gets 304 until something changes. Clients that request none of this get the old response.
func TestLongTranscriptsAreReadInWindows(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		session := server.CreateSession(nil)
		path := "/api/sessions/" + session
		events := server.Follow("threadId=" + session)
		turn := server.Send(session, "MOCK_SLOW[5,10] please")
		if status := events.WaitTurn(turn); status != "completed" {
			t.Fatalf("the turn ended %s", status)
		}
		note := func(id, content string) {
			server.Want(http.StatusOK, http.MethodPost, path+"/transcript/upsert",
				programtest.Object{"messageId": id, "turnId": "ci", "role": "system", "type": "ci.note",
					"content": content, "status": "complete"})
		}
		for n := range 25 {
			note(fmt.Sprint("note-", n), "one")
		}

		whole := server.Want(http.StatusOK, http.MethodGet, path, nil)
		if len(whole) != 5 { // session, thread, transcript, pos, capabilities
			t.Errorf("without a query the members are %v", whole)
		}
		want := map[string]string{}
		for _, one := range whole["transcript"].([]any) {
			want[programtest.Text(one, "messageId")] = programtest.Text(one, "content")
		}
		if len(want) < 27 {
			t.Fatalf("the whole has %d entries", len(want))
		}
		for pass, after := range []string{"", "restart"} {
			if after != "" {
				server.Stop()
				server = s.Start()
				server.WaitRuntime()
			}
			got, query := map[string]string{}, "limit=10"
			for windows := 1; ; windows++ {
				status, _, answer := get(server, path+"?"+query, "")
				entries, _ := answer["transcript"].([]any)
				if status != http.StatusOK || len(entries) == 0 || len(entries) > 10 {
					t.Fatalf("?%s answered %d with %d entries", query, status, len(entries))
				}
				for _, one := range entries {
					id := programtest.Text(one, "messageId")
					if _, again := got[id]; again {
						t.Errorf("?%s shows %s again", query, id)
					}
					got[id] = programtest.Text(one, "content")
				}
				before := programtest.Text(answer, "window", "before")
				if before == "" {
					break
				}
				query = "limit=10&before=" + before
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("pass %d: the windows show\n%v\nthe whole\n%v", pass, got, want)
			}
		}

		window := path + "?limit=5&after=note-2"
		status, tag, answer := get(server, window, "")
		if status != http.StatusOK || tag == "" || programtest.Text(answer, "window", "after") != "note-7" ||
			programtest.Text(answer, "window", "before") != "note-3" {
			t.Fatalf("%s answered %d %q %v", window, status, tag, answer["window"])
		}
		tag = settle(t, server, window)
		note("note-5", "two")
		if status, again, _ := get(server, window, tag); status != http.StatusOK || again == tag {
			t.Errorf("a changed entry is answered %d with version %s after %s", status, again, tag)
		}
		// The whole includes the runtime's own history, so it has a stable version only after the runtime wrote its
		// history.
		settle(t, server, path)
		for _, bad := range []string{"limit=0", "limit=1001", "limit=x", "limit=1&limit=2", "before=", "before=nothing",
			"after=nothing", "before=note-1&after=note-1"} {
			if status, _, answer := get(server, path+"?"+bad, ""); status != http.StatusBadRequest ||
				answer["code"] != "invalid_request" {
				t.Errorf("?%s answered %d %v", bad, status, answer)
			}
		}
		server.Stop()
	})
}
