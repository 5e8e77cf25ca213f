package clients

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// otherBuild shows the console of a server as another build of it: each file has another name, and the old names are gone.
type otherBuild struct {
	renamed, original *strings.Replacer
	gone              []string
}

// newBuild reverses the version in the names of the console's files, and the one of the whole build.
func newBuild(t *testing.T) *otherBuild {
	t.Helper()
	const app = "../../../console/dist/app/"
	files, err := filepath.Glob(app + "assets/*.[jc]s*")
	worker, readErr := os.ReadFile(app + "sw.js")
	version := regexp.MustCompile(`\["([0-9a-f]{12})",`).FindSubmatch(worker)
	if err != nil || readErr != nil || len(files) == 0 || version == nil {
		t.Fatalf("the console's files: %d, %v, %v", len(files), err, readErr)
	}
	b := &otherBuild{}
	names := []string{string(version[1]), reversed(string(version[1]))}
	for _, file := range files {
		name := filepath.Base(file)
		end := strings.LastIndex(name, ".")
		if extension := name[end:]; extension != ".js" && extension != ".css" {
			continue // a compressed one
		}
		b.gone = append(b.gone, "/assets/"+name)
		names = append(names, name, name[:end-8]+reversed(name[end-8:end])+name[end:])
	}
	back := slices.Clone(names)
	for i := 0; i < len(back); i += 2 {
		back[i], back[i+1] = back[i+1], back[i]
	}
	b.renamed, b.original = strings.NewReplacer(names...), strings.NewReplacer(back...)
	return b
}

func reversed(text string) string {
	letters := []byte(text)
	slices.Reverse(letters)
	return string(letters)
}

// request asks the server for the file by its own name, uncompressed and whole.
func (b *otherBuild) request(r *http.Request) {
	for _, name := range b.gone {
		if strings.HasSuffix(r.URL.Path, name) {
			r.URL.Path += ".gone"
		}
	}
	r.URL.Path = b.original.Replace(r.URL.Path)
	r.Header.Set("Accept-Encoding", "identity")
	r.Header.Del("If-None-Match")
}

// response renames the files wherever a page, a script or a style names them.
func (b *otherBuild) response(r *http.Response) error {
	kind := r.Header.Get("Content-Type")
	if !strings.HasPrefix(kind, "text/html") && !strings.HasPrefix(kind, "text/javascript") && !strings.HasPrefix(kind, "text/css") {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	body = []byte(b.renamed.Replace(string(body)))
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	r.Header.Del("ETag")
	return nil
}
