package config

func taskVariables() []Variable {
	return grouped("Tasks", []Variable{
		{Name: "HARNESS_TASKS_MODE", Enum: []string{"ask", "auto", "yolo"},
			Doc: "What tasks (/v1) may do without approval by default: nothing, safe tools, or everything (needs " +
				"HARNESS_ALLOW_YOLO). Unset: the session's controls.",
			field: func(c *Config) any { return &c.Tasks.Mode }},
		{Name: "HARNESS_TASKS_RUNTIME_EVENTS", Default: "false",
			Doc: "Whether the events of new tasks include runtime.request.started and .completed around requests to the " +
				"runtime.",
			field: func(c *Config) any { return &c.Tasks.RuntimeEvents }},
	})
}
