package config

// CheckRoles refuses roles with which the server would have no work.
func (c *Config) CheckRoles() error {
	var role string
	switch {
	case c.Serves() && c.Runs():
		return nil
	case c.Serves():
		role = "api"
	case c.Runs():
		role = "runner"
	default:
		return Usagef("HARNESS_ROLES names no role: set it to api, runner or api,runner, or unset it")
	}
	switch {
	case c.DatabaseURL == "":
		return Usagef("HARNESS_ROLES=%s is for several servers on one Postgres, and this one has a SQLite store of its own: "+
			"set DATABASE_URL, or unset HARNESS_ROLES", role)
	case c.Node.Address == "":
		return Usagef("HARNESS_ROLES=%s works only with other servers: set HARNESS_NODE_ADDRESS to where they reach "+
			"it, or unset HARNESS_ROLES", role)
	case !c.Runs() && len(c.AdoptNodes) > 0:
		return Usagef("HARNESS_ADOPT_NODES gives sessions to a server that runs agents, and HARNESS_ROLES=api says that this " +
			"one does not: set it at one with the role runner")
	}
	return nil
}
