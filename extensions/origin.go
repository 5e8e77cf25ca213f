package extensions

// Origin describes where an extension was found.
type Origin struct {
	Type OriginType `json:"type"`
	Path string     `json:"path"`
}

// OriginType is the kind of an extension's root.
type OriginType string

// The origins, strongest first: it is also the order of discovery.
const (
	RepoLocal        OriginType = "repo_local"        // the workspace's agents folder
	InstalledPackage OriginType = "installed_package" // AGENT_EXTENSION_PACKAGE_ROOTS
	ConfiguredRoot   OriginType = "configured_root"   // AGENT_EXTENSION_CONFIGURED_ROOTS
	NativeModule     OriginType = "native"            // compiled into this binary
)

// TrustMode controls undeclared events and actions of an extension (AGENT_EXTENSION_TRUST_MODE).
type TrustMode string

// The trust modes.
const (
	TrustDisabled TrustMode = "disabled" // nothing is checked or reported
	TrustWarn     TrustMode = "warn"     // allowed, reported
	TrustEnforced TrustMode = "enforced" // refused
)
