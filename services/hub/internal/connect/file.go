package connect

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"parley.internal/services/hub/internal/connect/block"
	"parley.internal/services/hub/internal/connect/jsonedit"
)

// file is a file of settings and the additions of a connection to it: entries of JSON, or lines.
type file struct {
	path string
	// set are members, add are elements at the end of lists.
	set, add []entry
	blocks   []lines
	// secret is set where the lines hold the key.
	secret bool
	// shared is set for a file that a repository is meant to have.
	shared bool
	// whole is the text of a file that is the connection's alone.
	whole []byte
	// folders are directories that the client makes for such a file, and that go with it if they are empty.
	folders []string
	// later is set for a file of the client to which it adds entries for the connection by itself.
	later bool
}

type entry struct {
	at    []string
	value any
}

// lines are lines of one id between marks.
type lines struct {
	style    comment
	id, body string
}

// comment is the name of a style in a record.
type comment string

const (
	hash     comment = "hash"
	markdown comment = "markdown"
)

func (c comment) style() block.Style {
	if c == markdown {
		return block.Markdown
	}
	return block.Hash
}

// prose reports whether the additions to a file are lines of a text for agents alone, which a person may have made their own.
func (t touched) prose() bool {
	return len(t.Blocks) > 0 && !isJSON(t.Path) && !slices.ContainsFunc(t.Blocks, func(b blockRef) bool { return b.Style != markdown })
}

func sum(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}

func isJSON(path string) bool { return filepath.Ext(path) == ".json" }

// strip returns a text without the additions of a connection, by their record t.
func strip(text []byte, id string, t touched) ([]byte, error) {
	if t.Whole {
		return nil, nil
	}
	if isJSON(t.Path) {
		if t.Sum == sum(text) {
			return jsonedit.Undo(text, t.Pieces)
		}
		return stripJSON(text, id, t.Made)
	}
	for _, b := range slices.Backward(t.Blocks) {
		var err error
		if text, err = b.Style.style().Remove(text, b.ID); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// stripJSON removes the entries that name a connection, and then the containers that it made where they are empty.
func stripJSON(text []byte, id string, made [][]string) ([]byte, error) {
	const each = jsonedit.Any
	ours := func(v any) bool { return names(v, id) }
	group := func(v any) bool {
		g, _ := v.(map[string]any)
		hooks, _ := g["hooks"].([]any)
		return len(hooks) > 0 && !slices.ContainsFunc(hooks, func(h any) bool { return !ours(h) })
	}
	for _, r := range []struct {
		matches func(any) bool
		pattern []string
	}{
		{ours, []string{"mcpServers", each}},
		{ours, []string{"servers", each}},
		{ours, []string{"projects", each, "mcpServers", each}},
		{group, []string{"hooks", each, each}},
		{ours, []string{"hooks", each, each, "hooks", each}},
	} {
		var err error
		if text, err = jsonedit.Remove(text, r.matches, r.pattern...); err != nil {
			return nil, err
		}
	}
	for _, path := range slices.Concat(pluginPaths(id), notedPaths(id)) {
		var err error
		if text, err = jsonedit.Remove(text, func(any) bool { return true }, path...); err != nil {
			return nil, err
		}
	}
	return jsonedit.Prune(text, made)
}

// names reports whether an entry of a server or a hook names a connection, as the commands of Parley do.
func names(v any, id string) bool {
	o, _ := v.(map[string]any)
	args, _ := o["args"].([]any)
	var words []string
	for _, a := range args {
		word, _ := a.(string)
		words = append(words, word)
	}
	for _, field := range []string{"command", "headersHelper"} {
		text, _ := o[field].(string)
		words = append(words, strings.Fields(text)...)
	}
	for i := 1; i < len(words); i++ {
		if words[i] == id && (words[i-1] == "--connection" || words[i-1] == "--print-headers") {
			return true
		}
	}
	return false
}

// current reports whether a text has exactly the additions that the file is to have of a connection.
func (f file) current(text []byte, id string, t touched) bool {
	if !isJSON(f.path) {
		for _, b := range f.blocks {
			if body, _, err := b.style.style().Find(text, b.id); err != nil || body != b.body {
				return false
			}
		}
		return !slices.ContainsFunc(t.Blocks, func(old blockRef) bool {
			return !slices.ContainsFunc(f.blocks, func(b lines) bool { return b.id == old.ID })
		})
	}
	has := 0
	for _, e := range f.set {
		if v, ok, err := jsonedit.Decode(text, e.at...); err != nil || !ok || !reflect.DeepEqual(v, plainValue(e.value)) {
			return false
		}
		has++
	}
	for _, e := range f.add {
		v, _, err := jsonedit.Decode(text, e.at...)
		list, _ := v.([]any)
		if err != nil || !slices.ContainsFunc(list, func(v any) bool { return reflect.DeepEqual(v, plainValue(e.value)) }) {
			return false
		}
		has++
	}
	// Whatever else names the connection is of an earlier one.
	count := 0
	counts := func(v any) bool {
		if g, ok := v.(map[string]any); ok && (names(g, id) || groupNames(g, id)) {
			count++
		}
		return false
	}
	const each = jsonedit.Any
	for _, pattern := range [][]string{{"mcpServers", each}, {"servers", each}, {"projects", each, "mcpServers", each},
		{"hooks", each, each}} {
		if _, err := jsonedit.Remove(text, counts, pattern...); err != nil {
			return false
		}
	}
	for _, path := range pluginPaths(id) {
		if _, ok, err := jsonedit.Decode(text, path...); err != nil {
			return false
		} else if ok {
			count++
		}
	}
	return count == has
}

func groupNames(g map[string]any, id string) bool {
	hooks, _ := g["hooks"].([]any)
	return slices.ContainsFunc(hooks, func(h any) bool { return names(h, id) })
}

// plainValue returns a value in the types of package json.
func plainValue(v any) (out any) {
	text, err := json.Marshal(v)
	if err == nil {
		_ = json.Unmarshal(text, &out)
	}
	return out
}

// apply adds everything to a text that has nothing of the connection, and completes the record.
func (f file) apply(text []byte, t *touched) (_ []byte, err error) {
	t.Pieces, t.Made, t.Blocks = nil, nil, nil
	if !isJSON(f.path) {
		for _, b := range f.blocks {
			if text, err = f.addLines(text, b); err != nil {
				return nil, err
			}
			t.Blocks = append(t.Blocks, blockRef{b.style, b.id})
		}
		return text, nil
	}
	for i, e := range slices.Concat(f.set, f.add) {
		edit := jsonedit.Set
		if i >= len(f.set) {
			edit = jsonedit.Append
		} else if _, ok, err := jsonedit.Decode(text, e.at...); err == nil && ok {
			return nil, fmt.Errorf("%s is there already, and `parley connect` did not write it; remove it, and run this again",
				strings.Join(e.at, " › "))
		}
		out, pieces, made, err := edit(text, e.value, e.at...)
		if err != nil {
			return nil, err
		}
		text, t.Pieces, t.Made = out, append(t.Pieces, pieces...), append(t.Made, made...)
	}
	return text, nil
}

// addLines adds lines to a text. The other values of a TOML file stay the same.
func (f file) addLines(text []byte, b lines) ([]byte, error) {
	out := b.style.style().Add(text, b.id, b.body)
	if filepath.Ext(f.path) != ".toml" {
		return out, nil
	}
	var before, after map[string]any
	if err := toml.Unmarshal(text, &before); err != nil {
		return nil, tomlError(err)
	}
	servers, _ := before["mcp_servers"].(map[string]any)
	if servers[Server] != nil && !strings.HasSuffix(b.id, "-trust") {
		return nil, fmt.Errorf("mcp_servers.%s is there already, and `parley connect` did not write it; remove it, and run this "+
			"again", Server)
	}
	if err := toml.Unmarshal(out, &after); err != nil {
		return nil, fmt.Errorf("the lines of Parley do not fit: %w", tomlError(err))
	}
	for name := range before {
		if after[name] == nil {
			return nil, errors.New("the lines of Parley would change the meaning of the lines that are there")
		}
	}
	return out, nil
}

// tomlError returns an error of TOML with its line.
func tomlError(err error) error {
	var e *toml.DecodeError
	if errors.As(err, &e) {
		row, column := e.Position()
		return fmt.Errorf("line %d, column %d: %s", row, column, strings.TrimPrefix(e.Error(), "toml: "))
	}
	return err
}

// empty reports whether a text says nothing.
func empty(path string, text []byte) bool {
	if jsonedit.Blank(text) {
		return true
	}
	return isJSON(path) && bytes.Equal(bytes.Join(bytes.Fields(text), nil), []byte("{}"))
}
