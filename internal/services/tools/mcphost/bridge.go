package mcphost

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bridge carries MCP between standard pipes and a server's MCP endpoint, for agents without HTTP. It returns when in
// ends. url is the endpoint's, token the bearer, "" for none.
func Bridge(ctx context.Context, url, token string, in io.ReadCloser, out io.WriteCloser) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client := &http.Client{Transport: withBearer{token}}
	remote, err := (&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client, MaxRetries: -1}).Connect(ctx)
	if err != nil {
		return err
	}
	local, err := (&mcp.IOTransport{Reader: in, Writer: out}).Connect(ctx)
	if err != nil {
		return errors.Join(err, remote.Close())
	}
	ended := make(chan error, 2)
	carry := func(from, to mcp.Connection) {
		for {
			message, err := from.Read(ctx)
			if err == nil {
				err = to.Write(ctx, message)
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}
	go carry(local, remote)
	go carry(remote, local)
	err = <-ended
	cancel()
	return errors.Join(ignore(err), ignore(local.Close()), ignore(remote.Close()), ignore(<-ended))
}

// ignore drops errors that only report the end of a side.
func ignore(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

type withBearer struct{ token string }

// RoundTrip implements http.RoundTripper.
func (b withBearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token == "" {
		return http.DefaultTransport.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}
