package config

// GenAI is the served version of the semantic conventions for generative AI.
const GenAI = "1.41"

func traceVariables() []Variable {
	return grouped("Traces", []Variable{
		{Name: "HARNESS_OTEL", Default: "false",
			Doc: "Send spans (requests, tasks, turns, runs of tools, waits for a decision, calls of runtimes) to an OpenTelemetry " +
				"collector. The variables OTEL_* count only then (docs/operations.md#traces).",
			field: func(c *Config) any { return &c.Traces.On }},
		{Name: "HARNESS_TRACES_GENAI", Default: "off", Enum: []string{"off", GenAI},
			Doc: "With HARNESS_OTEL, give spans of turns and tools the names and attributes of OpenTelemetry's conventions for generative AI " +
				"of this version, and count gen_ai.client.* metrics. Prompts and outputs are never among them.",
			field: func(c *Config) any { return &c.Traces.GenAI }},
		{Name: "OTEL_EXPORTER_OTLP_ENDPOINT", Secret: true, Allowed: "an http or https URL",
			Doc:   "The collector; spans go to v1/traces below it. Unset: http://localhost:4318. It may hold a password.",
			field: func(c *Config) any { return &c.Traces.Endpoint }},
		{Name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", Secret: true, Allowed: "an http or https URL",
			Doc:   "Full URL for spans; overrides OTEL_EXPORTER_OTLP_ENDPOINT.",
			field: func(c *Config) any { return &c.Traces.TracesEndpoint }},
		{Name: "OTEL_EXPORTER_OTLP_HEADERS", Secret: true, Allowed: "NAME=VALUE, separated by commas, percent-encoded",
			Doc:   "Headers of each request to the collector.",
			field: func(c *Config) any { return &c.Traces.Headers }},
		{Name: "OTEL_EXPORTER_OTLP_PROTOCOL", Allowed: "http/protobuf",
			Doc:   "Protocol of the collector; with any other one the server does not start.",
			field: func(c *Config) any { return &c.Traces.Protocol }},
		{Name: "OTEL_SERVICE_NAME",
			Doc:   "Name of this server in traces. Unset: harness.",
			field: func(c *Config) any { return &c.Traces.ServiceName }},
		{Name: "OTEL_RESOURCE_ATTRIBUTES", Allowed: "NAME=VALUE, separated by commas, percent-encoded",
			Doc:   "Further attributes of this server in traces.",
			field: func(c *Config) any { return &c.Traces.Resource }},
		{Name: "OTEL_TRACES_SAMPLER", Allowed: "always_on, always_off, traceidratio, and these after parentbased_",
			Doc:   "Which traces are sent, decided by the trace's id alone. Unset: all.",
			field: func(c *Config) any { return &c.Traces.Sampler }},
		{Name: "OTEL_TRACES_SAMPLER_ARG", Allowed: "a number from 0 to 1",
			Doc:   "The share of traces that traceidratio sends. Unset: 1.",
			field: func(c *Config) any { return &c.Traces.SamplerArg }},
	})
}
