//go:build !race

package cli_test

var raceFlags []string
