package acp

import (
	"context"
	"slices"
	"time"

	"harness/api/door"
	"harness/internal/operations"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// modelsWait bounds how long a runtime may take to list its models; without them a session offers none.
const modelsWait = 5 * time.Second

// Names of the options of a session.
const (
	optionMode   = "mode"
	optionModel  = "model"
	optionEffort = "effort"
)

// mode is a combination of approval policy and sandbox.
type mode struct{ id, name, about, policy, sandbox string }

const modeCustom = "custom"

// modes are the combinations that have a name.
func modes() []mode {
	return []mode{
		{"plan", "Plan", "The agent reads and changes nothing.", "on-request", "read-only"},
		{"ask", "Ask", "Whatever is not known to be harmless is asked.", "untrusted", ""},
		{"edit", "Edit", "The agent changes the workspace and asks for more.", "on-request", "workspace-write"},
		{"full", "Full access", "Nothing is asked and nothing is confined.", "never", "danger-full-access"},
	}
}

// modesOf returns the modes that a runtime enforces, and the mode of the controls.
func modesOf(can runtime.Capabilities, now session.Controls, yolo bool) (offered []mode, current string) {
	enforces := func(levels []string, level string) bool {
		return level == "" || len(levels) == 0 || slices.Contains(levels, level)
	}
	current = modeCustom
	for _, one := range modes() {
		if one.policy != now.ApprovalPolicy && one.id != "plan" || one.sandbox != "" && one.sandbox != now.FilesystemSandbox {
			// it is another one
		} else if current == modeCustom {
			current = one.id
		}
		if !enforces(can.ApprovalPolicies, one.policy) || !enforces(can.Sandboxes, one.sandbox) || one.id == "full" && !yolo {
			continue
		}
		offered = append(offered, one)
	}
	if !slices.ContainsFunc(offered, func(m mode) bool { return m.id == current }) {
		offered = append(offered, mode{id: modeCustom, name: "Custom", about: now.ApprovalPolicy + ", " + now.FilesystemSandbox})
		current = modeCustom
	}
	return offered, current
}

// in returns controls in a mode. A mode without a sandbox leaves the one for reading only.
func (m mode) in(now session.Controls, can runtime.Capabilities) session.Controls {
	sandbox := m.sandbox
	if sandbox == "" && now.FilesystemSandbox == "read-only" {
		sandbox = "workspace-write"
		if len(can.Sandboxes) > 0 && !slices.Contains(can.Sandboxes, sandbox) {
			sandbox = can.Sandboxes[len(can.Sandboxes)-1]
		}
	}
	if now.ApprovalPolicy = m.policy; sandbox != "" && sandbox != now.FilesystemSandbox {
		now = now.WithSandbox(sandbox)
	}
	return now
}

// offers returns the modes and options of a session.
func (f *follow) offers(ctx context.Context, s session.Session) object {
	offered, current := modesOf(canDo(s), s.Controls, f.peer.server.opts.Yolo)
	var available, values []object
	for _, one := range offered {
		available = append(available, object{"id": one.id, "name": one.name, "description": one.about})
		values = append(values, object{"value": one.id, "name": one.name, "description": one.about})
	}
	options := []object{selection(optionMode, "Mode", optionMode, current, values)}
	ctx, cancel := context.WithTimeout(ctx, modelsWait)
	defer cancel()
	models, _ := f.peer.ops().Models(ctx, s.Runtime) // a runtime that lists none still has a model
	options = append(options, f.modelOptions(models, s.Controls)...)
	return object{"modes": object{"currentModeId": current, "availableModes": available}, "configOptions": options}
}

// modelOptions returns the choice of a model and of its effort.
func (f *follow) modelOptions(models []runtime.Model, now session.Controls) (options []object) {
	at := currentModel(models, now)
	if at < 0 {
		return nil
	}
	var values []object
	for _, one := range models {
		values = append(values, object{"value": one.ID, "name": nameOf(one.Name, one.ID), "description": one.Description})
	}
	model := models[at]
	options = []object{selection(optionModel, "Model", optionModel, model.ID, values)}
	if len(model.Efforts) == 0 {
		return options
	}
	f.mu.Lock()
	effort := f.effort
	f.mu.Unlock()
	if !slices.Contains(model.Efforts, effort) {
		effort = nameOf(model.DefaultEffort, model.Efforts[0])
	}
	values = nil
	for _, one := range model.Efforts {
		values = append(values, object{"value": one, "name": one})
	}
	return append(options, selection(optionEffort, "Effort", "thought_level", effort, values))
}

// currentModel returns the place of a session's model in a list, -1 if it is unknown.
func currentModel(models []runtime.Model, now session.Controls) int {
	return slices.IndexFunc(models, func(m runtime.Model) bool {
		return m.ID == now.ModelName() || now.ModelName() == "" && m.Default
	})
}

func nameOf(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return name
}

func selection(id, name, category, value string, values []object) object {
	return object{"id": id, "name": name, "category": category, "type": "select", "currentValue": value, "options": values}
}

func setMode(ctx context.Context, c *call) (any, error) {
	var in struct{ ModeID string }
	if err := c.read(&in); err != nil {
		return nil, err
	}
	_, err := c.change(ctx, optionMode, in.ModeID)
	return object{}, err
}

func setOption(ctx context.Context, c *call) (any, error) {
	var in struct{ ConfigID, Value string }
	if err := c.read(&in); err != nil {
		return nil, err
	}
	changed, err := c.change(ctx, in.ConfigID, in.Value)
	if err != nil {
		return nil, err
	}
	return object{"configOptions": changed["configOptions"]}, nil
}

// change sets an option of a session, and returns what the session offers then.
func (c *call) change(ctx context.Context, option, value string) (object, error) {
	id, err := c.named()
	if err != nil {
		return nil, err
	}
	found, err := c.ops().Find(ctx, id)
	if err != nil {
		return nil, err
	}
	f := c.views.Of(id)
	if f == nil {
		return nil, door.Invalid("the session is not open on this connection")
	}
	next := found.Controls
	switch option {
	case optionMode:
		offered, _ := modesOf(canDo(found), next, c.server.opts.Yolo)
		at := slices.IndexFunc(offered, func(m mode) bool { return m.id == value })
		if at < 0 {
			return nil, door.Invalid("the session has no mode " + value)
		}
		if offered[at].id != modeCustom {
			next = offered[at].in(next, canDo(found))
		}
	case optionModel, optionEffort:
		models, err := c.ops().Models(ctx, found.Runtime)
		if err != nil {
			return nil, err
		}
		if err := f.choose(option, value, models, &next); err != nil {
			return nil, err
		}
	default:
		return nil, door.Invalid("the session has no option " + option)
	}
	if !next.Equal(found.Controls) {
		by := operations.Audit{Actor: c.Actor(), Source: protocol}
		f.knows(next) // by the answer
		changed, err := c.ops().SetControls(ctx, id, operations.ScopeSession, next, by)
		if err != nil {
			f.knows(found.Controls)
			return nil, err
		}
		found.Controls = changed.Controls
	}
	return f.offers(ctx, found), nil
}

// choose sets the model, or the effort of the next messages of this client.
func (f *follow) choose(option, value string, models []runtime.Model, next *session.Controls) error {
	if option == optionModel {
		if !slices.ContainsFunc(models, func(m runtime.Model) bool { return m.ID == value }) {
			return door.Invalid("the runtime has no model " + value)
		}
		next.Model = &value
		return nil
	}
	at := currentModel(models, *next)
	if at < 0 || !slices.Contains(models[at].Efforts, value) {
		return door.Invalid("the model has no effort " + value)
	}
	f.mu.Lock()
	f.effort = value
	f.mu.Unlock()
	return nil
}

// optionsChanged shows the options in the background. A client that catches up has them by its answer. It requires f.mu.
func (f *follow) optionsChanged() {
	if !f.late {
		f.peer.server.Desk.Background(f.showOptions)
	}
}

// showOptions shows the options if they are not those that the client knows.
func (f *follow) showOptions() {
	f.showing.Lock() // what is read later is shown later
	defer f.showing.Unlock()
	ctx := f.peer.Context
	found, err := f.peer.ops().Find(ctx, f.id)
	if err != nil {
		return // the next turn shows them
	}
	if f.knows(found.Controls) {
		return
	}
	view := f.offers(ctx, found)
	f.sendUpdate(object{"sessionUpdate": "config_option_update", "configOptions": view["configOptions"]})
	f.sendUpdate(object{"sessionUpdate": "current_mode_update", "currentModeId": view["modes"].(object)["currentModeId"]})
}

// knows notes the controls that the client gets, and reports whether it had them.
func (f *follow) knows(now session.Controls) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	had := f.session.Controls.Equal(now)
	f.session.Controls = now
	return had
}
