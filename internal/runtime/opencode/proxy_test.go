package opencode_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"sync"
	"syscall"
)

// proxied runs the real OpenCode and passes everything on. It drops the stream of events on SIGUSR1, and refuses a
// new one until SIGUSR2. With lateVariable the first stream waits for SIGUSR2, too.
func proxied(ctx context.Context, command []string) int {
	real := exec.CommandContext(ctx, command[0], command[1:]...)
	real.Stderr = os.Stderr
	real.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := real.StdoutPipe()
	if err != nil || real.Start() != nil {
		return 1
	}
	listening := regexp.MustCompile(`http://\S+`)
	var address *url.URL
	for buffer, text := make([]byte, 4096), ""; address == nil; {
		n, err := out.Read(buffer)
		if err != nil {
			return 1
		}
		text += string(buffer[:n])
		if found := listening.FindString(text); found != "" {
			address, _ = url.Parse(found)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	var mu sync.Mutex
	closed, cut := false, func() {}
	begun := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	if os.Getenv(lateVariable) == "" {
		begin()
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for s := range signals {
			mu.Lock()
			if closed = s == syscall.SIGUSR1; !closed {
				begin()
			}
			cut()
			mu.Unlock()
		}
	}()
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(address); r.Out.Host = r.In.Host },
		FlushInterval: -1}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	fmt.Printf("opencode server listening on http://%s\n", listener.Addr())
	go func() {
		_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // a test's
			if r.URL.Path == "/global/event" {
				<-begun
				ctx, cancel := context.WithCancel(r.Context())
				defer cancel()
				mu.Lock()
				refused := closed
				cut = cancel
				mu.Unlock()
				if refused {
					http.Error(w, "the stream is away", http.StatusServiceUnavailable)
					return
				}
				r = r.WithContext(ctx)
			}
			defer func() { _ = recover() }() // the proxy panics to cut a stream
			proxy.ServeHTTP(w, r)
		}))
	}()
	_ = real.Wait()
	return 0
}
