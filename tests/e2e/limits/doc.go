// Package limits has the end-to-end tests of tokens that are limited to projects.
package limits
