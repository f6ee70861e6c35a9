// Package layering holds the test that keeps the arrows between the packages
// pointing one way. The table in rules_test.go is where they are written down.
package layering
