// The client is a module of its own: programs that use it get none of the server's dependencies.
module harness/client

go 1.26.0

require (
	github.com/coder/websocket v1.8.15
	github.com/oapi-codegen/runtime v1.8.0
)

require (
	github.com/apapsch/go-jsonmerge/v2 v2.0.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
)
