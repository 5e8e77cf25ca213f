package schema

// Schema is a rule for values. Schemas are immutable, and any number of goroutines may share them.
type Schema interface {
	// check reports problems of v to c and returns the resulting value: trimmed, coerced, without unknown members.
	check(c *checker, v Value) Value
}

// checker collects the issues of one validation and its current position.
type checker struct {
	path   []step
	issues []Issue
	// refuse reports whether to refuse a member that no Struct knows. A nil function refuses none. refused lists such
	// members, which are reported only if there is no other problem.
	refuse  func(name string) bool
	refused []Issue
}

// step is a name or an index. Go would allocate an any for every member of every body.
type step struct {
	name  string
	index int // -1 for a name
}

func named(name string) step { return step{name, -1} }

// Check validates v. The value is only valid if there are no issues.
func Check(s Schema, v Value) (Value, []Issue) { return CheckRefusing(s, v, nil) }

// CheckRefusing is Check, but refuses unknown members for which refuse returns true. It drops the others.
func CheckRefusing(s Schema, v Value, refuse func(name string) bool) (Value, []Issue) {
	c := checker{refuse: refuse}
	checked := s.check(&c, v)
	if len(c.issues) == 0 {
		return checked, c.refused
	}
	return checked, c.issues
}

// at checks v one step deeper.
func (c *checker) at(where step, s Schema, v Value) Value {
	c.path = append(c.path, where)
	checked := s.check(c, v)
	c.path = c.path[:len(c.path)-1]
	return checked
}

func (c *checker) add(message string, members ...issueMember) {
	c.issues = append(c.issues, c.issue(message, members...))
}

// issue returns an issue about the current value of c.
func (c *checker) issue(message string, members ...issueMember) Issue {
	path := make([]any, len(c.path))
	for i, where := range c.path {
		if path[i] = where.index; where.index < 0 {
			path[i] = where.name
		}
	}
	return Issue{members: members, path: path, message: message}
}

func (c *checker) wrongType(expected string, v Value) {
	c.add("Invalid input: expected "+expected+", received "+v.received(),
		issueMember{"expected", expected}, issueMember{"code", "invalid_type"})
}

// Any accepts every value unchanged, including an absent one.
func Any() Schema { return anySchema{} }

type anySchema struct{}

func (anySchema) check(_ *checker, v Value) Value { return v }

// Optional accepts an absent value, or what s accepts. Null is not absent.
func Optional(s Schema) Schema { return optionalSchema{inner: s} }

type optionalSchema struct{ inner Schema }

func (s optionalSchema) check(c *checker, v Value) Value {
	if v.kind == Undefined {
		return v
	}
	return s.inner.check(c, v)
}

// Nullable accepts null, or what s accepts.
func Nullable(s Schema) Schema { return nullableSchema{inner: s} }

type nullableSchema struct{ inner Schema }

func (s nullableSchema) check(c *checker, v Value) Value {
	if v.kind == Null {
		return v
	}
	return s.inner.check(c, v)
}

// Default replaces an absent value, otherwise follows s.
func Default(s Schema, value Value) Schema { return defaultSchema{inner: s, value: value} }

type defaultSchema struct {
	inner Schema
	value Value
}

func (s defaultSchema) check(c *checker, v Value) Value {
	if v.kind == Undefined {
		return s.value
	}
	return s.inner.check(c, v)
}
