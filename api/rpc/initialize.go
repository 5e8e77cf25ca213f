package rpc

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"harness/api/rpc/events"
	"harness/api/rpc/registry"
	"harness/api/rpc/wire"
)

// protocolVersion is the protocol version. All versions with the same major number are compatible.
const protocolVersion = "1.0"

const methodInitialize = "initialize"

func lifecycleMethods() []method {
	return []method{
		{name: methodInitialize, summary: "Identify the client; returns the runtimes, their capabilities and the methods.",
			role: roleViewer, params: []param{text("protocolVersion", "1.0"), members("clientInfo", "{name, version}"),
				members("client_info", "An alias that some clients use."),
				members("capabilities", "notifications: a list of methods; runtimes: any; cursor: true for positions."),
				text("rootPath", "Unused.")},
			result: ref("InitializeResult"), handle: initialize},
		{name: "initialized", summary: "Confirm the response to initialize.", role: roleViewer,
			result: schema{"type": "object"}, handle: func(context.Context, *call) (any, error) { return struct{}{}, nil }},
		{name: "shutdown", summary: "Close this socket after the response.", role: roleViewer, scope: scopeSocket,
			result: object("success"), handle: shutdown},
		{name: "rpc.discover", summary: "The OpenRPC document.", role: roleViewer, result: schema{"type": "object"},
			handle: func(_ context.Context, c *call) (any, error) { return c.server.document() }},
	}
}

// named is a program and its version.
type named struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// initializeResult is the response to initialize. Where names on clients and servers differ, it has both.
type initializeResult struct {
	ProtocolVersion string       `json:"protocolVersion"`
	ServerInfo      named        `json:"serverInfo"`
	ServerInfoToo   named        `json:"server_info"`
	ClientID        string       `json:"clientId"`
	Capabilities    capabilities `json:"capabilities"`
}

type capabilities struct {
	Agent           map[string]bool   `json:"agent"`
	Git             map[string]bool   `json:"git"`
	File            map[string]bool   `json:"file"`
	Repository      map[string]bool   `json:"repository"`
	Notifications   []string          `json:"notifications"`
	SupportedAgents []string          `json:"supportedAgents"`
	Resume          map[string]bool   `json:"resume"`
	RuntimeRegistry registry.Registry `json:"runtimeRegistry"`
}

// none marks capabilities that this server lacks.
func none(names ...string) map[string]bool {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = false
	}
	return all
}

func initialize(_ context.Context, c *call) (any, error) {
	if asked := c.text("protocolVersion"); asked != "" {
		if major, _, _ := strings.Cut(asked, "."); major != "1" {
			return nil, &wire.Error{Code: wire.CodeInvalidParams, Message: "protocolVersion is not supported", Data: struct {
				Supported []string `json:"supported"`
			}{[]string{protocolVersion}}}
		}
	}
	if err := c.peer.introduce(c); err != nil {
		return nil, err
	}
	made, err := c.server.registry()
	if err != nil {
		return nil, err
	}
	self := named{"harness", c.server.opts.Version}
	return initializeResult{
		ProtocolVersion: protocolVersion, ServerInfo: self, ServerInfoToo: self, ClientID: c.peer.ID,
		Capabilities: capabilities{
			Agent: map[string]bool{"run": false, "stop": true, "respond": true, "sessions": true, "sessionWatch": true},
			Git:   none("status", "diff", "stage", "unstage", "discard", "commit", "push", "pull", "branches", "checkout"),
			File:  none("get", "list"), Repository: none("index", "search", "list", "tree", "stats", "rebuild"),
			Notifications: events.Names(), SupportedAgents: made.IDs(), Resume: map[string]bool{"cursor": true},
			RuntimeRegistry: made,
		},
	}, nil
}

// introduce records a socket's first description of itself.
func (p *peer) introduce(c *call) error {
	info := c.member("clientInfo")
	if info == nil {
		info = c.member("client_info")
	}
	capabilities := c.member("capabilities")
	var wanted []string
	if raw, listed := capabilities["notifications"]; listed && string(raw) != "null" && json.Unmarshal(raw, &wanted) != nil {
		return invalidParams("capabilities", "notifications must be a list of strings",
			"capabilities.notifications must be a list of strings")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.initialized {
		return nil
	}
	p.initialized = true
	_ = json.Unmarshal(info["name"], &p.client.name) // a client without a valid name has no name
	_ = json.Unmarshal(info["version"], &p.client.version)
	_ = json.Unmarshal(capabilities["cursor"], &p.cursor)
	_, p.runtimes = capabilities["runtimes"]
	if wanted != nil {
		p.wanted = map[string]bool{}
		for _, name := range wanted {
			p.wanted[name] = slices.Contains(events.Names(), name)
		}
	}
	if p.Socket != nil && p.cursor {
		p.Socket.ShowPositions()
	}
	p.see()
	return nil
}

func (p *peer) hasInitialized() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.initialized
}

func shutdown(ctx context.Context, c *call) (any, error) {
	wire.Later(ctx, func() {
		c.peer.Socket.Drain()
		c.peer.Socket.Close(closeNormal, "as asked")
	})
	return success{true}, nil
}

// success is the result of methods without data.
type success struct {
	Success bool `json:"success"`
}
