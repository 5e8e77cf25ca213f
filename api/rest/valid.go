package rest

import "harness/api/schema"

// Valid validates a part of a request: *ValidationError.
func Valid(s schema.Schema, v schema.Value) (schema.Value, error) {
	checked, issues := schema.Check(s, v)
	if len(issues) > 0 {
		return checked, &ValidationError{Issues: issues}
	}
	return checked, nil
}

// ValidRefusing is Valid for a part of a request that the route reads by the schema s. With a nil s the route reads
// nothing. It drops unknown members unless refuse returns true for them.
func ValidRefusing(s schema.Schema, v schema.Value, refuse func(name string) bool) (schema.Value, error) {
	unread := s == nil
	if unread && v.Kind() != schema.Object {
		return schema.Value{}, nil
	}
	if unread {
		s = schema.Struct()
	}
	checked, issues := schema.CheckRefusing(s, v, refuse)
	if len(issues) > 0 {
		return checked, &ValidationError{Issues: issues}
	}
	if unread {
		return schema.Value{}, nil
	}
	return checked, nil
}
