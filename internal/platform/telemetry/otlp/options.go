package otlp

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// Options are the settings of an Exporter. The texts have the format that the OpenTelemetry specification gives for the
// named variables.
type Options struct {
	Endpoint       string // OTEL_EXPORTER_OTLP_ENDPOINT; "" is the collector of this machine
	TracesEndpoint string // OTEL_EXPORTER_OTLP_ENDPOINT; "" is the collector on this machine
	Headers        string // OTEL_EXPORTER_OTLP_HEADERS
	Protocol       string // OTEL_EXPORTER_OTLP_PROTOCOL
	ServiceName    string // OTEL_SERVICE_NAME
	Resource       string // OTEL_RESOURCE_ATTRIBUTES
	Sampler        string // OTEL_TRACES_SAMPLER
	SamplerArg     string // OTEL_TRACES_SAMPLER_ARG
	// Version and Instance describe this server.
	Version, Instance string
	// Delay is how long spans wait to be batched; 0 is the specification's 5 s.
	Delay time.Duration
	// Exported and Failed, when set, get the number of spans that were sent, or that the collector did not accept.
	Exported, Failed func(spans int)
	Logger           zerolog.Logger
}

const (
	defaultEndpoint = "http://localhost:4318"
	defaultService  = "harness"
	onlyProtocol    = "http/protobuf"
)

// target returns the URL to which spans are sent.
func (o Options) target() (*url.URL, error) {
	name, text := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", o.TracesEndpoint
	if text == "" {
		name, text = "OTEL_EXPORTER_OTLP_ENDPOINT", cmp.Or(o.Endpoint, defaultEndpoint)
	}
	target, err := url.Parse(text)
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Host == "" {
		// The text may contain a password, so the error does not repeat it.
		return nil, fmt.Errorf("%s must be an http or https URL, such as %s", name, defaultEndpoint)
	}
	if o.TracesEndpoint == "" {
		target = target.JoinPath("v1", "traces")
	}
	return target, nil
}

// pairs reads "name=value,name=value" with percent-encoded values.
func pairs(name, text string) (map[string]string, error) {
	out := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		key, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); !found || key == "" || err != nil {
			return nil, fmt.Errorf("%s must be a list of NAME=VALUE, separated by commas, with %%2C for a comma", name)
		}
		out[key] = value
	}
	return out, nil
}

// resource returns the attributes of the server itself.
func (o Options) resource() ([]attribute.KeyValue, error) {
	further, err := pairs("OTEL_RESOURCE_ATTRIBUTES", o.Resource)
	if err != nil {
		return nil, err
	}
	further["service.name"] = cmp.Or(o.ServiceName, further["service.name"], defaultService)
	further["service.version"] = cmp.Or(further["service.version"], o.Version)
	further["service.instance.id"] = cmp.Or(further["service.instance.id"], o.Instance)
	var all []attribute.KeyValue
	for key, value := range further {
		all = append(all, attribute.String(key, value))
	}
	return all, nil
}

// sampler decides only by the trace's id, so that all spans of a trace get the same decision, on every server and
// across a restart. Events do not record whether the caller samples.
func (o Options) sampler() (sdk.Sampler, error) {
	switch strings.TrimPrefix(cmp.Or(o.Sampler, "always_on"), "parentbased_") {
	case "always_on":
		return sdk.AlwaysSample(), nil
	case "always_off":
		return sdk.NeverSample(), nil
	case "traceidratio":
		ratio, err := strconv.ParseFloat(cmp.Or(o.SamplerArg, "1"), 64)
		if err != nil || ratio < 0 || ratio > 1 {
			return nil, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, not %q", o.SamplerArg)
		}
		return sdk.TraceIDRatioBased(ratio), nil
	}
	return nil, fmt.Errorf("OTEL_TRACES_SAMPLER is %q; there are always_on, always_off and traceidratio, "+
		"and the same with parentbased_ before them", o.Sampler)
}
