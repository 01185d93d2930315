package runner

import (
	"cmp"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// inherited are the variables that every command inherits from the runner. A name that ends in * stands for all that
// begin with the rest.
var inherited = []string{"PATH", "HOME", "LANG", "LC_*", "TERM", "TMPDIR", "USER", "SHELL"}

// signIn are the variables with which known clients sign in to their models. Each inherits its own, and the proxies.
var (
	signIn  = map[string][]string{"claude": {"ANTHROPIC_*"}, "codex": {"OPENAI_*"}}
	proxies = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}
)

// keyVariable is the variable that holds the member's key unless PassKey names another.
const keyVariable = "PARLEY_KEY"

// parleyKey matches a key of Parley.
var parleyKey = regexp.MustCompile(`parley_[a-z2-7]+_[a-z2-7]{52}`)

// environment returns the environment of the command: of the runner's variables those that it inherits, without any
// that contain the runner's key or another key of Parley, then those of Env, and the member's key in the variable that
// PassKey names. A member without a key gets no variable for it, nor one whose Env removes PARLEY_KEY while PassKey names
// none.
func (c *Command) environment(own []string, key, member string) []string {
	pass := slices.Concat(inherited, c.PassEnv)
	if names, ok := signIn[filepath.Base(c.Args.Name())]; ok {
		pass = slices.Concat(pass, names, proxies)
	}
	vars := map[string]string{}
	for _, line := range own {
		name, value, ok := strings.Cut(line, "=")
		if ok && passes(pass, name) && (key == "" || !strings.Contains(value, key)) && !parleyKey.MatchString(value) {
			vars[name] = value
		}
	}
	for name, value := range c.Env {
		if value == nil {
			delete(vars, name)
			continue
		}
		vars[name] = *value
	}
	value, set := c.Env[keyVariable]
	if removed := set && value == nil && c.PassKey == ""; member != "" && !removed {
		vars[cmp.Or(c.PassKey, keyVariable)] = member
	}
	out := make([]string, 0, len(vars)+1)
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if name != "PWD" {
			out = append(out, name+"="+vars[name])
		}
	}
	return out
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
