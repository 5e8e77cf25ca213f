package operations

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/transcript"
)

// The limits for parts of a request, in every protocol: strings in UTF-16 code units, as clients count, and lists in
// elements. Required parts are never blank. A protocol may refuse earlier with its own message; the operations return
// *InvalidError.
const (
	MaxTitle            = 200
	MaxProjectName      = 120
	MaxProjectID        = 200
	MaxWorkingDirectory = 2000
	MaxRuntimeName      = 100
	MaxSearch           = 200
	MaxImages           = 20
	MaxTools            = 128
	MaxReason           = 4000
	MaxReviewTitle      = 300
	MaxSettingKey       = 240
	MaxActor            = 120
	MaxSource           = 64
	MaxDraft            = 4000
	MaxSuggestion       = 8000
	MaxSuggestionError  = 4000
	MaxUpserts          = 1000
	MaxPage             = 200
	MaxWindow           = 1000
	MaxPath             = 4096
)

// problems collects the problems of a request.
type problems []Problem

func (p *problems) add(field, format string, args ...any) {
	*p = append(*p, Problem{Field: field, Index: -1, Message: fmt.Sprintf(format, args...)})
}

// most refuses a string that is longer than a maximum; 0 means no limit.
func (p *problems) most(field, text string, maximum int) {
	if length := javascript.Length(text); maximum > 0 && length > maximum {
		p.add(field, "Has %d characters; at most %d are allowed", length, maximum)
	}
}

// text is most for a required string.
func (p *problems) text(field, text string, maximum int) {
	if javascript.Trim(text) == "" {
		p.add(field, "Is missing or blank")
	}
	p.most(field, text, maximum)
}

// count refuses a list, or a page, that is larger than a maximum.
func (p *problems) count(field string, n, maximum int) {
	if n > maximum {
		p.add(field, "Is %d; at most %d are allowed", n, maximum)
	}
}

// oneOf refuses a string outside a list.
func (p *problems) oneOf(field, word string, words ...string) {
	if !slices.Contains(words, word) {
		p.add(field, "Is %q; use one of %s", word, strings.Join(words, ", "))
	}
}

// err returns *InvalidError, nil without a problem.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return &InvalidError{p}
}

// checkText validates one required string.
func checkText(field, text string, maximum int) error {
	var p problems
	p.text(field, text, maximum)
	return p.err()
}

func checkProject(name string, workingDirectory *string) error {
	var p problems
	p.text("name", name, MaxProjectName)
	if workingDirectory != nil {
		p.text("workingDirectory", *workingDirectory, MaxWorkingDirectory)
	}
	return p.err()
}

// tools limits a list of client tools; the session validates each tool.
func (p *problems) tools(dynamicTools json.RawMessage) {
	var list []json.RawMessage
	if len(dynamicTools) > 0 && json.Unmarshal(dynamicTools, &list) == nil {
		p.count("dynamicTools", len(list), MaxTools)
	}
}

func checkTools(dynamicTools json.RawMessage) error {
	var p problems
	p.tools(dynamicTools)
	return p.err()
}

func checkMessage(message session.Message) error {
	var p problems
	p.text("text", message.Text, 0)
	p.count("images", len(message.Images), MaxImages)
	p.tools(message.DynamicTools)
	return p.err()
}

func checkReply(decision, scope, reason string) error {
	var p problems
	p.oneOf("decision", decision, accepted, "decline", "cancel")
	p.oneOf("scope", scope, "", "turn", "session")
	p.most("message", reason, MaxReason)
	return p.err()
}

func (a Audit) check() error {
	var p problems
	p.most("actor", a.Actor, MaxActor)
	p.most("source", a.Source, MaxSource)
	return p.err()
}

// checkEntries validates what clients write into transcripts. Their ids become parts of keys.
func checkEntries(entries []transcript.Entry) error {
	var p problems
	p.count("entries", len(entries), MaxUpserts)
	for i := range entries {
		of, entry := len(p), &entries[i]
		p.text("messageId", entry.MessageID, database.MaxKey)
		p.text("turnId", entry.TurnID, database.MaxKey)
		p.text("type", entry.Type, 0)
		p.oneOf("role", entry.Role, "user", "assistant", "system")
		p.oneOf("status", string(entry.Status), string(transcript.Streaming), string(transcript.Complete),
			string(transcript.Canceled), string(transcript.Failed))
		for j := of; j < len(p); j++ {
			p[j].Message = fmt.Sprintf("entry %d: %s", i, p[j].Message)
		}
	}
	return p.err()
}

func (r ReviewRequest) check() error {
	var p problems
	p.oneOf("delivery", r.Delivery, "", "inline", "detached")
	p.oneOf("targetType", r.Target, "", runtime.ReviewUncommitted, runtime.ReviewBranch, runtime.ReviewCommit,
		runtime.ReviewCustom)
	if r.Title != nil {
		p.most("title", *r.Title, MaxReviewTitle)
	}
	return p.err()
}
