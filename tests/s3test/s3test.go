// Package s3test gives tests a real S3-compatible server (versitygw) with an empty bucket, on a separate port.
package s3test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/internal/lib/objectstore"
	"harness/tests/outside"
	"harness/tests/polling"
)

// Keys and names of the server.
const (
	accessKey, secretKey = "the-key-of-the-test", "the-secret-of-the-test"
	bucket, region       = "harness-test", "us-east-1"
)

// Server is a running server.
type Server struct {
	objectstore.Options
	// Dir is the folder of the bucket's objects, as files with their names.
	Dir string
}

// Start runs a server until the test ends. It fails the test if the server is not installed.
func Start(t testing.TB) *Server {
	t.Helper()
	outside.Needs(t, "an S3 server")
	root := t.TempDir()
	data, sidecar := filepath.Join(root, "data"), filepath.Join(root, "meta")
	for _, dir := range []string{filepath.Join(data, bucket), sidecar} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	//nolint:usetesting // a socket's path is short
	short, err := os.MkdirTemp("", "s3-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	socket := filepath.Join(short, "s")
	var said bytes.Buffer
	server := exec.Command(binary(t), "--port", socket, "--access", accessKey, "--secret", secretKey, "--region", region, "--quiet",
		"posix", "--sidecar", sidecar, data)
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill() // it has ended by then
		_ = server.Wait()
	})
	if !polling.Until(30*time.Second, func() bool {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			err = conn.Close()
		}
		return err == nil
	}) {
		t.Fatalf("the S3 server does not listen: %s", &said)
	}
	address := listen(t, socket)
	return &Server{Dir: filepath.Join(data, bucket), Options: objectstore.Options{Endpoint: (&url.URL{Scheme: "http",
		Host: address}).String(), Region: region, Bucket: bucket, AccessKeyID: accessKey, SecretAccessKey: secretKey}}
}

// binary returns the path of the server that scripts/setup-test.sh builds.
func binary(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, found := os.Stat(filepath.Join(dir, "scripts", "s3-tool.sh")); found == nil {
			path, err := exec.Command(filepath.Join(dir, "scripts", "s3-tool.sh")).Output()
			if err != nil {
				t.Fatalf("the S3 server of the tests is missing (%v); build it with scripts/setup-test.sh", err)
			}
			return strings.TrimSpace(string(path))
		}
	}
	t.Fatalf("scripts/s3-tool.sh is not above this folder: %v", err)
	return ""
}

// listen forwards connections on a port to a socket, until the test ends.
func listen(t testing.TB, socket string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		open    []net.Conn
	)
	pass := func(to, from net.Conn) {
		defer running.Done()
		_, _ = io.Copy(to, from) // either side may end it
		_, _ = to.Close(), from.Close()
	}
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", socket)
			if err != nil {
				_ = client.Close()
				continue
			}
			mu.Lock()
			open = append(open, client, server)
			mu.Unlock()
			running.Add(2)
			go pass(server, client)
			go pass(client, server)
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return listener.Addr().String()
}
