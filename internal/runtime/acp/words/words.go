// Package words has the names of the Agent Client Protocol, version 1, that both sides of it use.
//
// It owns the names and nothing else. It must never know which side uses them, or what a message contains.
package words

// Methods.
const (
	Initialize = "initialize"
	Login      = "authenticate"
	Logout     = "logout"
	New        = "session/new"
	Load       = "session/load"
	Resume     = "session/resume"
	List       = "session/list"
	Fork       = "session/fork"
	Delete     = "session/delete"
	Close      = "session/close"
	Prompt     = "session/prompt"
	Cancel     = "session/cancel"
	SetMode    = "session/set_mode"
	SetTitle   = "session/set_title"
	SetModel   = "session/set_model"
	SetOption  = "session/set_config_option"
	Update     = "session/update"
	Permission = "session/request_permission"
	Elicit     = "elicitation/create"
	Withdraw   = "$/cancel_request"
)
