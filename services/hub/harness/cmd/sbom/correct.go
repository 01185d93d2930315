package main

import (
	"errors"
	"net/url"
	"strings"
)

const (
	// local begins the name that a module of this repository has in a bill: its directory, seen from that of the binary.
	local = "../../"
	// repository begins the path of such a module, which its directory ends.
	repository = "parley.internal/"
	// unversioned is the version that it has there.
	unversioned = "(devel)"
)

// correct gives the packages of a bill the platform of its binary, and the modules of this repository their paths and the
// version of the binary.
func correct(bill map[string]any) error {
	metadata, _ := bill["metadata"].(map[string]any)
	main, _ := metadata["component"].(map[string]any)
	version, _ := main["version"].(string)
	platform := map[string]string{"goos": property(metadata, "GOOS"), "goarch": property(metadata, "GOARCH")}
	if version == "" || platform["goos"] == "" || platform["goarch"] == "" {
		return errors.New("the bill of materials lacks the version of the binary or its platform: make it with cyclonedx-gomod " +
			"bin and -version, from a binary that go build wrote")
	}
	components, _ := bill["components"].([]any)
	renamed := map[string]string{}
	for _, c := range append([]any{main}, components...) {
		c, ok := c.(map[string]any)
		if !ok {
			return errors.New("a component is no object")
		}
		if name, _ := c["name"].(string); strings.HasPrefix(name, local) {
			path := repository + strings.TrimPrefix(name, local)
			renamed[name+"@"+unversioned] = path + "@" + version
			c["name"], c["version"] = path, version
		}
		if purl, ok := c["purl"].(string); ok {
			c["purl"] = on(purl, platform)
		}
	}
	rename(bill, renamed)
	return nil
}

// property returns a variable of the build.
func property(metadata map[string]any, name string) string {
	list, _ := metadata["properties"].([]any)
	for _, p := range list {
		if p, ok := p.(map[string]any); ok && p["name"] == "cdx:gomod:build:env:"+name {
			value, _ := p["value"].(string)
			return value
		}
	}
	return ""
}

// on returns the URL of a package with the platform in place of the one that it names.
func on(purl string, platform map[string]string) string {
	start, query, _ := strings.Cut(purl, "?")
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, _, _ := strings.Cut(part, "=")
		if value, ok := platform[name]; ok {
			parts[i] = name + "=" + url.QueryEscape(value)
		}
	}
	return strings.TrimSuffix(start+"?"+strings.Join(parts, "&"), "?")
}

// rename replaces the packages of names in all URLs and references of a value.
func rename(value any, names map[string]string) any {
	switch v := value.(type) {
	case map[string]any:
		for key, part := range v {
			v[key] = rename(part, names)
		}
	case []any:
		for i, part := range v {
			v[i] = rename(part, names)
		}
	case string:
		for old, name := range names {
			if rest, found := strings.CutPrefix(v, "pkg:golang/"+old); found {
				return "pkg:golang/" + name + rest
			}
		}
	}
	return value
}
