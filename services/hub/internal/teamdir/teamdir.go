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

// Source describes the directories that a team was read from.
type Source struct {
	// Ignored lists the fields that were ignored because they are unknown, such as "config.json: hooks".
	Ignored []string
	// Tasks are the directories whose tasks were read.
	Tasks []string
}

// Read returns the team in a directory. The tasks of a directory teams/NAME are those in its own tasks and those in
// tasks/NAME beside teams. It fails with an error that names the file if a file of the team cannot be read, is larger than
// 64 MiB or is not JSON of the right shape. It ignores files with other names.
func Read(dir string) (a team.Archive, from Source, err error) {
	r := &reader{root: dir}
	a.Inboxes = map[string][]team.Message{}
	r.note(&a, "config", r.read(configFile, &a.Config))
	for i, m := range a.Members {
		r.note(&a, "members/"+m.Name, r.member(i))
	}
	for _, name := range r.list(inboxDir) {
		var list []message
		agent, nulls := strings.TrimSuffix(name, ".json"), r.read(filepath.Join(inboxDir, name), &list)
		got := make([]team.Message, len(list))
		for i, m := range list {
			r.note(&a, fmt.Sprintf("inboxes/%s/%d", agent, i), at(nulls, i))
			got[i] = team.Message{From: m.From, Text: m.Text, Timestamp: m.Timestamp, Read: m.Read, Summary: m.Summary,
				Color: m.Color}
		}
		a.Inboxes[agent] = got
	}
	for _, tasks := range taskDirs(dir) {
		if names := r.list(tasks); len(names) > 0 {
			from.Tasks = append(from.Tasks, filepath.Join(dir, tasks))
			r.readTasks(&a, tasks, names)
		}
	}
	from.Ignored = r.ignored
	return a, from, r.err
}

// taskDirs returns the directories that may hold the tasks of a team, relative to its own.
func taskDirs(dir string) []string {
	out := []string{taskDir}
	if abs, err := filepath.Abs(dir); err == nil && filepath.Base(filepath.Dir(abs)) == "teams" {
		out = append(out, filepath.Join("..", "..", taskDir, filepath.Base(abs)))
	}
	return out
}

// readTasks reads the tasks in a directory.
func (r *reader) readTasks(a *team.Archive, dir string, names []string) {
	for _, name := range names {
		var t team.Task
		nulls := r.read(filepath.Join(dir, name), &t)
		if r.err == nil && t.ID+".json" != name {
			r.err = fmt.Errorf("%s: the id must match the file name, not be %q", filepath.Join(r.root, dir, name), t.ID)
		}
		if r.err == nil && slices.ContainsFunc(a.Tasks, func(have team.Task) bool { return have.ID == t.ID }) {
			r.err = fmt.Errorf("%s: %s has a task %s too; keep one of them", filepath.Join(r.root, dir, name),
				filepath.Join(r.root, taskDir), t.ID)
		}
		r.note(a, "tasks/"+t.ID, nulls)
		a.Tasks = append(a.Tasks, t)
	}
}

// reader reads the files of one directory, up to the first error.
type reader struct {
	root    string
	ignored []string
	config  any // the decoded configuration
	err     error
}

// note records the known fields of an object that are null.
func (r *reader) note(a *team.Archive, object string, v any) {
	fields, ok := v.(map[string]any)
	if !ok || r.err != nil {
		return
	}
	var null []string
	for name, value := range fields {
		if value == nil {
			null = append(null, name)
		}
	}
	if len(null) > 0 {
		if a.Nulls == nil {
			a.Nulls = team.Nulls{}
		}
		slices.Sort(null)
		a.Nulls[object] = null
	}
}

// member returns the decoded member with an index.
func (r *reader) member(i int) any {
	config, _ := r.config.(map[string]any)
	return at(config["members"], i)
}

// at returns an element of a decoded list, nil if there is none.
func at(list any, i int) any {
	if l, ok := list.([]any); ok && i < len(l) {
		return l[i]
	}
	return nil
}

// read decodes a file, and returns it decoded without a type as well.
func (r *reader) read(name string, into any) (all any) {
	if r.err != nil {
		return nil
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
		return nil
	}
	if err := json.Unmarshal(text, &all); err == nil {
		for _, field := range unknown(all, reflect.TypeOf(into).Elem()) {
			if entry := filepath.ToSlash(name) + ": " + field; !slices.Contains(r.ignored, entry) {
				r.ignored = append(r.ignored, entry)
			}
		}
	}
	if name == configFile {
		r.config = all
	}
	return all
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
	files := map[string]any{configFile: configOf(a)}
	for agent, list := range a.Inboxes {
		out := make([]object, len(list))
		for i, m := range list {
			out[i] = object{message{m.From, m.Text, m.Timestamp, m.Read, m.Summary, m.Color},
				a.Nulls[fmt.Sprintf("inboxes/%s/%d", agent, i)]}
		}
		files[filepath.Join(inboxDir, agent+".json")] = out
	}
	for _, t := range a.Tasks {
		files[filepath.Join(taskDir, t.ID+".json")] = object{t, a.Nulls["tasks/"+t.ID]}
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
