package appserver

import (
	"context"
	"runtime"
)

// initialize is the first request of a socket. No version is negotiated.
func initialize(_ context.Context, c *call) (any, error) {
	var in struct {
		Capabilities struct {
			Without []string `json:"optOutNotificationMethods"`
		} `json:"capabilities"`
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	c.without.Store(&in.Capabilities.Without)
	// A client shows the folder and never opens it.
	return object{"userAgent": "harness/" + c.server.opts.Version, "codexHome": "/", "platformFamily": "unix", "platformOs": runtime.GOOS}, nil
}
