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

// readConfig shows nothing of the server's configuration. The folder that a client asks about is trusted: the server
// decides by its own rules in which ones sessions work, and a client that asks its user could not store the answer.
func readConfig(_ context.Context, c *call) (any, error) {
	var in struct{ Cwd string }
	if err := c.read(&in); err != nil {
		return nil, err
	}
	config := object{}
	if in.Cwd != "" {
		config["projects"] = object{in.Cwd: object{"trust_level": "trusted"}}
	}
	return object{"config": config, "origins": object{}}, nil
}
