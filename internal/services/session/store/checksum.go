package store

import (
	"context"
	"encoding/json"
	"strconv"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
)

// checksumOf returns the checksum of stored texts in order.
func checksumOf(texts []string) (sum database.Checksum) {
	for _, one := range texts {
		sum = sum.Add(strconv.Itoa(len(one))).Add(":").Add(one)
	}
	return sum
}

// RequestDamaged is the summary of a request whose row is damaged.
const RequestDamaged = "What this asks is damaged in the database of the server. It can be declined, and not accepted."

// damage reduces a damaged request to the parts that are needed to decline it.
func (r *Request) damage() {
	r.damaged = true
	r.Summary, r.Params, r.Decisions, r.Questions, r.Asked = RequestDamaged, json.RawMessage("{}"), nil, nil, runtime.Asked{}
}

// checkDamage refuses a reply that accepts a damaged request.
func (r *Request) checkDamage() error {
	if !r.damaged || r.Reply == nil || r.Reply.Refusal != "" || r.Kind == runtime.RequestToolCall && !r.Reply.Success {
		return nil
	}
	if r.Reply.Decision == "decline" || r.Reply.Decision == "cancel" {
		return nil
	}
	return journal.Refuse(&runtime.ReplyError{Field: "decision", Message: RequestDamaged})
}

// Damaged lists the ids of the interactive requests and the queued messages with damaged rows.
func Damaged(ctx context.Context, q database.Querier) (requests, messages []string, err error) {
	var long []Request
	err = database.ReadEach(ctx, q, "look at interactive requests", func(row database.Row) error {
		one, err := scanRequest(row)
		if one.damaged {
			requests = append(requests, one.ID)
		} else if len(one.Params) == 0 {
			long = append(long, one)
		}
		return err
	}, `select `+requestColumns+` from interactive_requests`)
	for _, one := range long {
		if err == nil {
			one, err = one.WithParams(ctx, q)
		}
		if one.damaged {
			requests = append(requests, one.ID)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	waiting, err := ReadQueued(ctx, q, `checksum is not null`)
	for _, one := range waiting {
		if one.Damaged {
			messages = append(messages, one.ID)
		}
	}
	return requests, messages, err
}
