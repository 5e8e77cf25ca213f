package nodes

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/programtest"
	"harness/tests/s3test"
)

// A server can read objects that another one stored in the object store, and the doctor reports the store's state.
func TestLongArtifactsAreReadAtEveryNode(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	env := []string{"HARNESS_S3_URL=" + store.Endpoint + "/" + store.Bucket + "/here/",
		"HARNESS_S3_KEY=" + store.AccessKeyID + ":" + store.SecretAccessKey}
	n := newNodes(t, programtest.WithEnv(env...))
	session := n.a.CreateSession(nil)
	picture := noise(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.a.URL+"/api/sessions/"+session+"/uploads?name=noise.png",
		bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "image/png")
	var kept struct{ Status, Image string }
	answer := n.a.Show(request)
	if _, body, _ := strings.Cut(answer, "\r\n\r\n"); json.Unmarshal([]byte(body), &kept) != nil || kept.Status != "ok" {
		t.Fatalf("the upload is answered %s", answer)
	}
	id := kept.Image[strings.LastIndexAny(kept.Image, ":/")+1:]
	if status, body := n.b.Ask(http.MethodGet, "/v1/artifacts/"+id+"/download", nil); status != http.StatusOK || body != string(picture) {
		t.Errorf("the other node answers %d with %d bytes of %d", status, len(body), len(picture))
	}
	objects := 0
	err = filepath.WalkDir(filepath.Join(store.Dir, "here"), func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			objects++
		}
		return err
	})
	if err != nil || objects != 1 {
		t.Errorf("%d objects are in the bucket, %v", objects, err)
	}
	if said := n.siteA.MustRun("doctor", "--json"); !strings.Contains(said, "bucket "+store.Bucket+" answers") ||
		strings.Contains(said, store.SecretAccessKey) {
		t.Errorf("the doctor says %s", said)
	}
}

// noise returns a picture that no format compresses well.
func noise(t *testing.T) []byte {
	t.Helper()
	picture := image.NewNRGBA(image.Rect(0, 0, 800, 800))
	for i, seed := 0, uint32(1); i < 800*800; i++ {
		seed = seed*1664525 + 1013904223
		picture.SetNRGBA(i%800, i/800, color.NRGBA{uint8(seed >> 24), uint8(seed >> 16), uint8(seed >> 8), 255})
	}
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
