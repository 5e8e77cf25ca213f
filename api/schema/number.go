package schema

import (
	"encoding/json"
	"math"
	"strconv"
)

// Numeric accepts a number.
type Numeric struct {
	coerce                bool
	hasMin, hasMax, above bool
	min, max              float64
}

// Integer accepts an integer in JavaScript's safe range.
func Integer() Numeric { return Numeric{} }

// Coerce first converts the value with JavaScript's Number, as query parameters and some bodies require: "" is 0,
// "abc" is NaN.
func (s Numeric) Coerce() Numeric { s.coerce = true; return s }

// Min requires at least n.
func (s Numeric) Min(n float64) Numeric { s.hasMin, s.above, s.min = true, false, n; return s }

// Above requires more than n.
func (s Numeric) Above(n float64) Numeric { s.hasMin, s.above, s.min = true, true, n; return s }

// Max allows at most n.
func (s Numeric) Max(n float64) Numeric { s.hasMax, s.max = true, n; return s }

func (s Numeric) check(c *checker, v Value) Value {
	if s.coerce {
		number := toNumber(v)
		switch {
		case math.IsNaN(number):
			c.notNumber("NaN")
			return v
		case math.IsInf(number, 0):
			c.notNumber("Infinity")
			return v
		case v.kind != Number:
			v = NumberValue(strconv.FormatFloat(number, 'f', -1, 64))
		}
	}
	if v.kind != Number {
		c.wrongType("number", v)
		return v
	}
	number := v.Float()
	if math.IsInf(number, 0) {
		c.notNumber("Infinity")
		return v
	}
	if !s.checkInteger(c, number) {
		return v
	}
	if s.hasMin && (number < s.min || s.above && number == s.min) {
		c.tooSmall("number", format(s.min), !s.above, "")
	}
	if s.hasMax && number > s.max {
		c.tooBig("number", format(s.max), true, "")
	}
	return v
}

// checkInteger reports whether the caller still needs to check the range.
func (s Numeric) checkInteger(c *checker, number float64) bool {
	const note = "Integers must be within the safe integer range."
	if number != math.Trunc(number) {
		c.add("Invalid input: expected int, received number",
			issueMember{"expected", "int"}, issueMember{"format", "safeint"}, issueMember{"code", "invalid_type"})
		return false
	}
	if number > maxSafeInteger {
		c.add("Too big: expected int to be <="+strconv.Itoa(maxSafeInteger),
			issueMember{"code", "too_big"}, issueMember{"maximum", maxSafeInteger}, issueMember{"note", note},
			issueMember{"origin", "int"}, issueMember{"inclusive", true})
	}
	if number < -maxSafeInteger {
		c.add("Too small: expected int to be >="+strconv.Itoa(-maxSafeInteger),
			issueMember{"code", "too_small"}, issueMember{"minimum", -maxSafeInteger}, issueMember{"note", note},
			issueMember{"origin", "int"}, issueMember{"inclusive", true})
	}
	return true
}

func (c *checker) notNumber(received string) {
	c.add("Invalid input: expected number, received "+received,
		issueMember{"expected", "number"}, issueMember{"code", "invalid_type"}, issueMember{"received", received})
}

// tooSmall reports a lower bound. origin is the measured property. unit is its plural with a leading space ("" for a
// plain number).
func (c *checker) tooSmall(origin, minimum string, inclusive bool, unit string) {
	c.add("Too small: expected "+origin+bound(">", minimum, inclusive, unit),
		issueMember{"origin", origin}, issueMember{"code", "too_small"}, issueMember{"minimum", json.Number(minimum)},
		issueMember{"inclusive", inclusive})
}

func (c *checker) tooBig(origin, maximum string, inclusive bool, unit string) {
	c.add("Too big: expected "+origin+bound("<", maximum, inclusive, unit),
		issueMember{"origin", origin}, issueMember{"code", "too_big"}, issueMember{"maximum", json.Number(maximum)},
		issueMember{"inclusive", inclusive})
}

func bound(sign, limit string, inclusive bool, unit string) string {
	if inclusive {
		sign += "="
	}
	if unit == "" {
		return " to be " + sign + limit
	}
	return " to have " + sign + limit + unit
}

func format(number float64) string { return strconv.FormatFloat(number, 'f', -1, 64) }
