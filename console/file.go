package console

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// file is one file of the console, with its compressed versions from the build.
type file struct {
	contentType string
	// codings are by their name in Accept-Encoding; "" is the uncompressed file.
	codings map[string][]byte
	// tag is the version of a file without one in its name; files in /assets never change.
	tag string
}

// codings are the encodings that the build makes, smallest first, by file extension.
var codings = [...]struct{ name, ending string }{{"br", ".br"}, {"gzip", ".gz"}}

// readFiles reads all files but the page itself, by their URL paths.
func readFiles(app fs.FS) (map[string]file, error) {
	files := map[string]file{}
	err := fs.WalkDir(app, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(name, "index.html") {
			return err
		}
		body, err := fs.ReadFile(app, name)
		if err != nil {
			return err
		}
		plain, coding := name, ""
		for _, c := range codings {
			if cut, is := strings.CutSuffix(name, c.ending); is {
				plain, coding = cut, c.name
			}
		}
		of, known := files["/"+plain]
		if !known {
			of = file{contentType: typeOf(plain), codings: map[string][]byte{}}
		}
		of.codings[coding] = body
		if coding == "" && !strings.HasPrefix(name, "assets/") {
			sum := sha256.Sum256(body)
			of.tag = `"` + hex.EncodeToString(sum[:8]) + `"`
		}
		files["/"+plain] = of
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the console's files: %w", err)
	}
	for name, of := range files {
		if of.codings[""] == nil {
			return nil, fmt.Errorf("read the console's files: %s is there only compressed", name)
		}
	}
	return files, nil
}

// typeOf returns a file's content type, regardless of the machine's MIME settings.
func typeOf(name string) string {
	switch ending := path.Ext(name); ending {
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".webmanifest":
		return "application/manifest+json"
	default:
		if known := mime.TypeByExtension(ending); known != "" {
			return known
		}
		return "application/octet-stream"
	}
}

// serve responds with the smallest encoding that the browser accepts.
func (f file) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Add("Vary", "Accept-Encoding")
	if f.tag == "" {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		header.Set("Cache-Control", "no-cache")
		header.Set("ETag", f.tag)
		if r.Header.Get("If-None-Match") == f.tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	body := f.codings[""]
	for _, c := range codings {
		if smaller := f.codings[c.name]; smaller != nil && accepts(r, c.name) {
			header.Set("Content-Encoding", c.name)
			body = smaller
			break
		}
	}
	write(w, r, f.contentType, body)
}

// accepts reports whether a client accepts an encoding; it does not accept one with a weight of 0.
func accepts(r *http.Request, coding string) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, parameters, _ := strings.Cut(strings.TrimSpace(part), ";")
		if !strings.EqualFold(strings.TrimSpace(name), coding) {
			continue
		}
		weight, weighted := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q=")
		value, err := strconv.ParseFloat(weight, 64)
		return !weighted || err == nil && value > 0
	}
	return false
}

func write(w http.ResponseWriter, r *http.Request, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the browser may have disconnected
	}
}
