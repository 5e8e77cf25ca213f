// Package limits tests, end to end, tokens that are limited to projects.
package limits
