package teamdir

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"parley.internal/shared/team"
)

const (
	configFile = "config.json"
	inboxDir   = "inboxes"
	taskDir    = "tasks"
	// maxFile is the limit of one file in bytes.
	maxFile = 64 << 20
)

// message is a message of an inbox file. It has no id, since the server assigns one.
type message struct {
	From      string `json:"from"`
	Text      string `json:"text"`
	Timestamp string `json:"timestamp"`
	Read      bool   `json:"read"`
	Summary   string `json:"summary,omitempty"`
	Color     string `json:"color,omitempty"`
}

// Read returns the team in a directory, and the fields that it ignored because they are unknown, such as
// "config.json: hooks". It fails with an error that names the file if a file of the team cannot be read, is larger than
// 64 MiB or is not JSON of the right shape. It ignores files with other names.
func Read(dir string) (a team.Archive, ignored []string, err error) {
	r := &reader{root: dir}
	a.Inboxes = map[string][]team.Message{}
	r.read(configFile, &a.Config)
	for _, name := range r.list(inboxDir) {
		var list []message
		r.read(filepath.Join(inboxDir, name), &list)
		got := make([]team.Message, len(list))
		for i, m := range list {
			got[i] = team.Message{From: m.From, Text: m.Text, Timestamp: m.Timestamp, Read: m.Read, Summary: m.Summary,
				Color: m.Color}
		}
		a.Inboxes[strings.TrimSuffix(name, ".json")] = got
	}
	for _, name := range r.list(taskDir) {
		var t team.Task
		r.read(filepath.Join(taskDir, name), &t)
		if r.err == nil && t.ID+".json" != name {
			r.err = fmt.Errorf("%s: the id must match the file name, not be %q", filepath.Join(dir, taskDir, name),
				t.ID)
		}
		a.Tasks = append(a.Tasks, t)
	}
	return a, r.ignored, r.err
}

// reader reads the files of one directory, up to the first error.
type reader struct {
	root    string
	ignored []string
	err     error
}

func (r *reader) read(name string, into any) {
	if r.err != nil {
		return
	}
	text, err := r.text(name)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		if err = d.Decode(into); err == nil && d.More() {
			err = errors.New("must hold one JSON value")
		}
	}
	if err != nil {
		r.err = fmt.Errorf("%s: %w", filepath.Join(r.root, name), err)
		return
	}
	var all any
	if err := json.Unmarshal(text, &all); err == nil {
		for _, field := range unknown(all, reflect.TypeOf(into).Elem()) {
			if entry := filepath.ToSlash(name) + ": " + field; !slices.Contains(r.ignored, entry) {
				r.ignored = append(r.ignored, entry)
			}
		}
	}
}

func (r *reader) text(name string) ([]byte, error) {
	path := filepath.Join(r.root, name)
	info, err := os.Stat(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("must be a file of at most %d MiB", maxFile>>20)
	}
	return os.ReadFile(path)
}

// list returns the names of the JSON files in a directory, sorted. A missing directory has none.
func (r *reader) list(dir string) (names []string) {
	if r.err != nil {
		return nil
	}
	entries, err := os.ReadDir(filepath.Join(r.root, dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.err = err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

// unknown returns the names of the fields of a decoded value that its type does not have, sorted.
func unknown(v any, t reflect.Type) (out []string) {
	switch v := v.(type) {
	case []any:
		if t.Kind() == reflect.Slice {
			for _, e := range v {
				out = append(out, unknown(e, t.Elem())...)
			}
		}
	case map[string]any:
		if t.Kind() != reflect.Struct {
			return nil
		}
		known := map[string]reflect.Type{}
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			known[name] = f.Type
		}
		for name, value := range v {
			if ft, ok := known[name]; !ok {
				out = append(out, name)
			} else {
				out = append(out, unknown(value, ft)...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Write writes a team into a directory, which must be empty or missing. Only the owner may read the files. A team that
// was written in part has no config.json.
func Write(dir string, a team.Archive) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s must be empty or missing; name another directory", dir)
	}
	files := map[string]any{configFile: a.Config}
	for agent, list := range a.Inboxes {
		out := make([]message, len(list))
		for i, m := range list {
			out[i] = message{m.From, m.Text, m.Timestamp, m.Read, m.Summary, m.Color}
		}
		files[filepath.Join(inboxDir, agent+".json")] = out
	}
	for _, t := range a.Tasks {
		files[filepath.Join(taskDir, t.ID+".json")] = t
	}
	for _, sub := range []string{"", inboxDir, taskDir} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	// The configuration is written last, since a directory without it is not a team.
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int {
		if (x == configFile) != (y == configFile) {
			return map[bool]int{true: 1, false: -1}[x == configFile]
		}
		return cmp.Compare(x, y)
	})
	for _, name := range names {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(files[name]); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}
