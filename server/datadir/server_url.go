package datadir

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"harness/internal/platform/config"
)

// CheckReady returns the reason why the configured server is not ready, nil if it is ready.
func CheckReady(ctx context.Context, cfg *config.Config) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	host := cfg.Host
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	address := "http://" + net.JoinHostPort(host, strconv.Itoa(cfg.Port)) + "/api/ready"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("no server answers at %s: %w", address, err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	var body struct{ Reason, Message string }
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&body); err != nil {
		return fmt.Errorf("the server at %s is not ready: %s", address, response.Status)
	}
	return fmt.Errorf("the server at %s is not ready: %s", address, cmp.Or(body.Reason, body.Message, response.Status))
}

// ServerURL returns the URL on this machine of the configured server.
func ServerURL(cfg *config.Config) string {
	host := cfg.Host
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(cfg.Port))
}
