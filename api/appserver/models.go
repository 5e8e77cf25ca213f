package appserver

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"harness/api/door"
	"harness/internal/operations"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// modelsWait bounds how long a runtime may take to list its models; without them it is shown by its name.
const modelsWait = 5 * time.Second

// listModels lists the models of all runtimes. A model of another runtime than the default one is RUNTIME/MODEL; a
// runtime alone is its default model.
func listModels(ctx context.Context, c *call) (any, error) {
	states, err := c.ops().RuntimeStates()
	if err != nil {
		return nil, err
	}
	states = slices.DeleteFunc(slices.Clone(states), func(s operations.RuntimeState) bool {
		return s.Offered == operations.RuntimeDisabled
	})
	lists := make([][]object, len(states))
	var asking sync.WaitGroup
	for i, state := range states {
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, modelsWait)
			defer cancel()
			models, _ := c.ops().Models(ctx, state.Name) // a runtime that lists none still has a default model
			lists[i] = modelsOf(state, models)
		})
	}
	asking.Wait()
	all := slices.Concat(lists...)
	if len(all) == 0 {
		return nil, &door.Failure{Code: door.CodeInternal, Message: "This server has no runtime; add one and start it again (HARNESS_RUNTIMES)"}
	}
	if !slices.ContainsFunc(all, func(m object) bool { return m["isDefault"] == true }) {
		all[0]["isDefault"] = true
	}
	return object{"data": all}, nil
}

// modelsOf lists the models of one runtime. The first entry stands for the runtime's own choice.
func modelsOf(state operations.RuntimeState, models []runtime.Model) []object {
	all := []object{modelView(state.Name, state.Name, "A session of "+state.Name+" with its own default model", runtime.Model{
		Images: state.Capabilities.Images}, state.Default)}
	for _, m := range models {
		name, id := m.Name, modelName(state.Name, m.ID, state.Default)
		if name == "" {
			name = m.ID
		}
		if !state.Default {
			name = state.Name + ": " + name
		}
		all = append(all, modelView(id, name, m.Description, m, false))
	}
	return all
}

func modelView(id, name, description string, m runtime.Model, standard bool) object {
	efforts, effort := []object{}, m.DefaultEffort
	for _, one := range m.Efforts {
		efforts = append(efforts, object{"reasoningEffort": one, "description": one})
	}
	if len(efforts) == 0 { // clients need at least one
		effort = "medium"
		efforts = append(efforts, object{"reasoningEffort": effort, "description": "as the runtime has it"})
	} else if effort == "" {
		effort = m.Efforts[0]
	}
	inputs := []string{"text"}
	if m.Images {
		inputs = append(inputs, "image")
	}
	return object{"id": id, "model": id, "displayName": name, "description": description, "hidden": false,
		"supportedReasoningEfforts": efforts, "defaultReasoningEffort": effort, "inputModalities": inputs,
		"supportsPersonality": false, "additionalSpeedTiers": []any{}, "serviceTiers": []any{}, "isDefault": standard}
}

// modelName is the name of a runtime's model for clients.
func modelName(runtimeName, model string, standard bool) string {
	switch {
	case model == "":
		return runtimeName
	case standard:
		return model
	}
	return runtimeName + "/" + model
}

// modelOf is the name of a session's model for clients.
func (c *call) modelOf(s session.Session) string {
	return modelName(s.Runtime, s.Controls.ModelName(), s.Runtime == c.ops().DefaultRuntime())
}

// chosenModel reads a client's model: RUNTIME/MODEL, RUNTIME alone, or a model of the runtime otherwise.
func (c *call) chosenModel(name, otherwise string) (runtimeName, model string, err error) {
	states, err := c.ops().RuntimeStates()
	if err != nil {
		return "", "", err
	}
	runtimeName, model = otherwise, name
	head, rest, _ := strings.Cut(name, "/")
	if slices.ContainsFunc(states, func(s operations.RuntimeState) bool { return s.Name == head }) {
		runtimeName, model = head, rest
	}
	return runtimeName, model, nil
}

// effortOf returns an effort if the model of the session has it, else "".
func (c *call) effortOf(ctx context.Context, s session.Session, effort string) string {
	if effort == "" {
		return ""
	}
	models, err := c.ops().Models(ctx, s.Runtime)
	if err != nil {
		return ""
	}
	for _, m := range models {
		if (m.ID == s.Controls.ModelName() || s.Controls.Model == nil && m.Default) && slices.Contains(m.Efforts, effort) {
			return effort
		}
	}
	return ""
}
