package config

import (
	"net/url"
	"slices"
	"strings"
)

// notifyKinds are the kinds of notifications; package notify has the same list.
const notifyKinds = "approval.waiting,question.waiting,turn.ended,turn.failed,job.failed"

// pushServices are the push services of Chrome, Firefox, Edge and Safari.
const pushServices = "fcm.googleapis.com,*.push.services.mozilla.com,*.notify.windows.com,*.push.apple.com"

func notifyVariables() []Variable {
	return grouped("Notifications", []Variable{
		{Name: "HARNESS_PUBLIC_URL", check: isPublicURL, Allowed: "an http or https URL without a slash at its end",
			Doc: "Where people reach this server. Its path is where a proxy shows the server, which may pass it on or take it away. Unset, " +
				"notifications have no links. With https the console's cookies are Secure.",
			field: func(c *Config) any { return &c.Notify.PublicURL }},
		{Name: "HARNESS_NOTIFY_WEBHOOK_URL", Secret: true, Allowed: "an http or https URL",
			Doc: "URL that receives notifications as JSON, signed per Standard Webhooks " +
				"(docs/operations.md#notifications).",
			field: func(c *Config) any { return &c.Notify.WebhookURL }},
		{Name: "HARNESS_NOTIFY_WEBHOOK_SECRET", Secret: true, Min: 16,
			Doc:   "Key of the webhook's signatures: whsec_ and base64, or any text. The webhook needs one.",
			field: func(c *Config) any { return &c.Notify.WebhookSecret }},
		{Name: "HARNESS_NOTIFY_NTFY_URL", Secret: true, Allowed: "an http or https URL",
			Doc: "Topic of an ntfy server that notifications are posted to, with an access token if it needs one, e.g. " +
				"https://:TOKEN@ntfy.example.com/my-topic.",
			field: func(c *Config) any { return &c.Notify.NtfyURL }},
		{Name: "HARNESS_NOTIFY_KINDS", Default: notifyKinds, Allowed: "a comma-separated list of " + notifyKinds,
			check: func(s string) bool { return slices.Contains(strings.Split(notifyKinds, ","), s) },
			Doc:   "Events that cause notifications.",
			field: func(c *Config) any { return &c.Notify.Kinds }},
		{Name: "HARNESS_NOTIFY_PUSH_SERVICES", Default: pushServices, check: isPushService,
			Allowed: "a comma-separated list of hosts, *.hosts and origins, or none",
			Doc: "Push services of browsers that may be used for notifications, which users turn on in the console's " +
				"settings; none turns push off.",
			field: func(c *Config) any { return &c.Notify.PushServices }},
		{Name: "HARNESS_NOTIFY_DECIDE_LINKS", Default: "false",
			Doc: "Add a link to notifications of approvals. For one hour, anyone with it can approve or decline that " +
				"request without signing in.",
			field: func(c *Config) any { return &c.Notify.DecideLinks }},
	})
}

// isPushService accepts a host, "*." with a host, an origin with https or on this machine, and none.
func isPushService(s string) bool {
	if host := strings.TrimPrefix(s, "*."); !strings.ContainsAny(host, "*:/@?# ") {
		return host != "" && host == strings.ToLower(host)
	}
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && s == u.Scheme+"://"+u.Host && (u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()))
}

// isPublicURL accepts a URL to which a path can be appended.
func isPublicURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil &&
		!strings.ContainsAny(s, "?#") && (u.Path == "" || isBasePath(u.EscapedPath()))
}

func (c *Config) setBasePath() {
	if u, err := url.Parse(c.Notify.PublicURL); err == nil {
		c.BasePath = u.Path
	}
}

func (c *Config) checkNotify() error {
	if c.Notify.WebhookURL != "" && c.Notify.WebhookSecret == "" {
		return &RuleError{"HARNESS_NOTIFY_WEBHOOK_URL", "it needs HARNESS_NOTIFY_WEBHOOK_SECRET: " +
			"make one with `echo whsec_$(openssl rand -base64 32)`"}
	}
	public, err := url.Parse(c.Notify.PublicURL)
	if c.Notify.DecideLinks && (err != nil || public.Scheme != "https" && !isLoopback(public.Hostname())) {
		return &RuleError{"HARNESS_NOTIFY_DECIDE_LINKS", "it needs HARNESS_PUBLIC_URL with https: " +
			"over http anybody on the way could decide"}
	}
	return nil
}
