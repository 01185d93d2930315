package runner

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"parley.internal/services/hub/internal/runner/launcher"
)

// inherited are the variables that every command inherits from the runner. A name that ends in * stands for all that
// begin with the rest.
var inherited = []string{"PATH", "HOME", "LANG", "LC_*", "TERM", "TMPDIR", "USER", "SHELL"}

// proxies are the variables through which a client that signs in to its model finds it.
var proxies = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}

// keyVariable is the variable that holds the member's key unless PassKey names another.
const keyVariable = "PARLEY_KEY"

// parleyKey matches a key of Parley.
var parleyKey = regexp.MustCompile(`parley_[a-z2-7]+_[a-z2-7]{52}`)

// Environment returns the environment of the command for an agent with a key, from one's own environment and key.
func (c *Command) Environment(own []string, key, agent string) []string {
	return c.environment(own, key, agent)
}

// KeyVariable returns the name of the variable that holds the agent's key.
func (c *Command) KeyVariable() string { return c.keyVariable() }

// environment returns the environment of the command: of the runner's variables those that it inherits, without any
// that contain the runner's key or another key of Parley, then those of Env, and the member's key in the variable that
// PassKey names. A member without a key gets no variable for it, nor one whose Env removes PARLEY_KEY while PassKey names
// none.
func (c *Command) environment(own []string, key, member string) []string {
	pass := slices.Concat(inherited, c.PassEnv)
	if names := launcher.SignIn(c.program()); names != nil {
		pass = slices.Concat(pass, names, proxies)
	}
	vars := map[string]string{}
	for _, line := range own {
		name, value, ok := strings.Cut(line, "=")
		if ok && passes(pass, name) && (key == "" || !strings.Contains(value, key)) && !parleyKey.MatchString(value) {
			vars[name] = value
		}
	}
	if c.client == nil {
		for _, name := range teamVariables {
			vars[name] = "1"
		}
	}
	for name, value := range c.Env {
		if value == nil {
			delete(vars, name)
			continue
		}
		vars[name] = *value
	}
	if member != "" && !c.keyless() {
		vars[c.keyVariable()] = member
	}
	out := make([]string, 0, len(vars)+1)
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if name != "PWD" {
			out = append(out, name+"="+vars[name])
		}
	}
	return out
}

// keyVariable returns the name of the variable that holds the member's key.
func (c *Command) keyVariable() string { return cmp.Or(c.PassKey, keyVariable) }

// keyless reports whether the operator keeps the member's key from the command.
func (c *Command) keyless() bool {
	value, set := c.Env[keyVariable]
	return set && value == nil && c.PassKey == ""
}

// passes reports whether a list of variables has a name.
func passes(list []string, name string) bool {
	return slices.ContainsFunc(list, func(have string) bool {
		if begin, ok := strings.CutSuffix(have, "*"); ok {
			return strings.HasPrefix(name, begin)
		}
		return name == have
	})
}
