package config

func taskVariables() []Variable {
	return grouped("Tasks", []Variable{
		{Name: "HARNESS_TASKS_MODE", Enum: []string{"ask", "auto", "yolo"},
			Doc: "What tasks (/v1) do unasked when neither they nor their session say: nothing, what is safe, or everything " +
				"(which takes HARNESS_ALLOW_YOLO). Unset: what the session's controls say.",
			field: func(c *Config) any { return &c.Tasks.Mode }},
		{Name: "HARNESS_TASKS_RUNTIME_EVENTS", Default: "false",
			Doc: "Whether the events of tasks have runtime.request.started and .completed around what is asked of the runtime. " +
				"It holds for tasks that begin from then on.",
			field: func(c *Config) any { return &c.Tasks.RuntimeEvents }},
	})
}
