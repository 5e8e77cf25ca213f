package api_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// The server passes on the images of a message unchanged, or refuses the message with the image and the reason. It
// drops none.
func TestImagesOfAMessage(t *testing.T) {
	t.Parallel()
	encode := func(content string) string { return base64.StdEncoding.EncodeToString([]byte(content)) }
	png, gif := "data:image/png;base64,"+encode("\x89PNG\x0D\x0A\x1A\x0A..."), "data:image/gif;base64,"+
		encode("GIF89a....")
	jpeg, webp := "data:image/jpeg;base64,"+encode("\xff\xd8\xff\xe0.."), "data:image/webp;base64,"+
		encode("RIFF....WEBPVP8 ")
	b := setup(t)
	b.sessions.next.turnID = "turn"
	post := func(images any) (int, string) {
		t.Helper()
		body, err := json.Marshal(map[string]any{"text": "look", "images": images})
		if err != nil {
			t.Fatal(err)
		}
		got := b.post("/api/sessions/"+knownID+"/messages", string(body))
		return got.Code, got.Body.String()
	}
	if status, body := post([]any{png, map[string]string{"url": gif}, jpeg, webp}); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, body)
	}
	if got := b.sessions.messages[0]; got.Text != "look" || !slices.Equal(got.Images, []string{png, gif, jpeg, webp}) {
		t.Errorf("the session got %q", got.Images)
	}
	if status, body := post([]any{}); status != http.StatusAccepted || len(b.sessions.messages[1].Images) != 0 {
		t.Errorf("none: %d %s", status, body)
	}
	for name, c := range map[string]struct {
		images any
		why    string
	}{
		"a text":        {png, `"path":["images"]`},
		"null":          {nil, `"path":["images"]`},
		"too many":      {slices.Repeat([]string{png}, 21), `"path":["images"]`},
		"remote":        {[]string{"https://pictures.example/a.png"}, "remote images and files are not read"},
		"file":          {[]string{"file:///etc/passwd"}, "remote images and files are not read"},
		"path":          {[]string{"/etc/passwd"}, "remote images and files are not read"},
		"path member":   {[]any{map[string]string{"path": "/etc/passwd"}}, "remote images and files are not read"},
		"number":        {[]any{1}, "remote images and files are not read"},
		"the second":    {[]any{png, ""}, `"path":["images",1]`},
		"SVG":           {[]string{"data:image/svg+xml;base64," + encode("<svg/>")}, "with a type of image/png"},
		"no type":       {[]string{"data:;base64," + encode("x")}, "with a type of image/png"},
		"not base64":    {[]string{"data:image/png,abc"}, "with a type of image/png"},
		"broken base64": {[]string{png + "!"}, "is not base64"},
		"folded base64": {[]string{png[:30] + "\n" + png[30:]}, "is not base64"},
		"another type":  {[]string{strings.Replace(png, "png", "gif", 1)}, "is image/png, not image/gif"},
		"text in disguise": {[]string{"data:image/png;base64," + encode("root:x:0:0")},
			"is text/plain; charset=utf-8, not image/png"},
	} {
		status, body := post(c.images)
		if status != http.StatusBadRequest || !strings.Contains(body, c.why) ||
			!strings.Contains(body, `"code":"invalid_request"`) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if len(b.sessions.messages) != 2 {
		t.Errorf("%d messages were sent", len(b.sessions.messages))
	}
}
