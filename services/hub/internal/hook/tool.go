package hook

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"unicode"
)

// toolInput holds the fields of the tools' inputs that matter here, of all clients.
type toolInput struct {
	Command  command `json:"command"`
	Cmd      command `json:"cmd"`
	FilePath text    `json:"file_path"`
	Notebook text    `json:"notebook_path"`
	Path     text    `json:"path"`
	Target   text    `json:"target"`
	Type     text    `json:"message_type"`
	// History is as the model writes it.
	History json.RawMessage `json:"includeDelivered"`

	Content     text `json:"content"`
	Source      text `json:"new_source"`
	Old         text `json:"old_string"`
	New         text `json:"new_string"`
	Unsandboxed bool `json:"dangerouslyDisableSandbox"`
	Edits       []struct {
		Old text `json:"old_string"`
		New text `json:"new_string"`
	} `json:"edits"`
}

// lines returns the text that a call of a tool would write: the beginning of each line, marked as in a diff. It says where
// something is left out.
func (t toolInput) lines(patch string) string {
	var b strings.Builder
	whole, left := 0, false
	add := func(mark string, of text) {
		whole += len(of)
		for line := range strings.Lines(string(of)) {
			if left = left || b.Len() > maxContent; left {
				break
			}
			b.WriteString(mark + shown(visible(line), 200, len(line)) + "\n")
		}
	}
	add("", text(patch))
	add("+ ", t.Content+t.Source)
	add("- ", t.Old)
	add("+ ", t.New)
	for _, e := range t.Edits {
		add("- ", e.Old)
		add("+ ", e.New)
	}
	text := strings.TrimSpace(b.String())
	if left {
		return cut(text, maxContent, whole)
	}
	return shown(text, maxContent, whole)
}

// command is a shell's command, which some clients give as a list of words.
type command string

// UnmarshalJSON implements json.Unmarshaler.
func (c *command) UnmarshalJSON(b []byte) error {
	var words []string
	var line string
	switch {
	case json.Unmarshal(b, &line) == nil:
		*c = command(line)
	case json.Unmarshal(b, &words) == nil:
		*c = command(strings.Join(words, " "))
	}
	return nil
}

// shells are the names of the clients' tools that run a command, and edits those that change a file.
var (
	shells = map[string]bool{"Bash": true, "shell": true, "local_shell": true, "exec_command": true, "unified_exec": true,
		"run_shell_command": true}
	edits = map[string]bool{"Edit": true, "Write": true, "MultiEdit": true, "NotebookEdit": true, "write_file": true,
		"replace": true, "edit": true}
)

// tool fills in the fields of a tool call.
func (c *Call) tool(in input) {
	c.Tool, c.Use = short(clean(in.Tool), 100), short(clean(string(in.ToolUse)), maxThread)
	c.Interrupted = in.Interrupt
	var ti toolInput
	_ = json.Unmarshal(in.ToolInput, &ti) // a tool's input may be anything
	line := string(ti.Command) + string(ti.Cmd)
	file := firstOf(string(ti.FilePath), string(ti.Notebook), string(ti.Path))
	detail, subject := "", ""
	if c.Kind == Permission {
		c.Unsandboxed = ti.Unsandboxed
	}
	if c.Kind == Permission || c.Kind == After {
		c.About = named(c.Tool, line, in.ToolInput)
	}
	switch name := c.Tool; {
	case name == "apply_patch":
		paths, all := PatchPaths(line)
		c.edit(paths)
		if subject = strings.Join(paths, ", "); all {
			c.exact(paths...)
		} else {
			subject = "more files than are shown: " + subject
		}
		c.show(ti.lines(line))
		if len(paths) > 0 {
			detail = Relative(c.Dir, paths[0])
		}
	case shells[name]:
		c.Shell = true
		if c.Kind == Permission && line != "" && len(line) <= maxExact {
			c.Exact = []string{line}
		}
		detail, subject = firstWord(line), line
	case edits[name] && file != "":
		c.edit([]string{file})
		c.exact(file)
		detail, subject = Relative(c.Dir, file), file
		c.show(ti.lines(""))
	case file != "":
		c.exact(file)
		detail, subject = Relative(c.Dir, file), file
	default:
		subject = string(in.ToolInput)
	}
	c.Subject = shown(visible(subject), maxSubject, len(subject))
	c.Doing = short(strings.TrimSpace(c.Tool+" "+clean(detail)), maxDoing)
	switch tail(c.Tool) {
	case "send_message":
		c.To, c.Type = short(clean(string(ti.Target)), 200), short(clean(string(ti.Type)), 20)
	case "create_task":
		if c.To = short(clean(string(ti.Target)), 200); c.To != "" {
			c.Type = "TASK"
		}
	case "get_messages", "get_inbox":
		c.ReadsHistory = c.Kind == After && strings.Trim(string(ti.History), `"`) == "true"
	}
}

// show keeps the text that a permission request would write.
func (c *Call) show(content string) {
	if c.Kind == Permission {
		c.Content = content
	}
}

func (c *Call) edit(paths []string) {
	if c.Kind != Before || len(paths) == 0 {
		return
	}
	c.Kind, c.Paths = Edit, paths
}

// exact takes the paths that a permission is asked for, in their shortest form.
func (c *Call) exact(paths ...string) {
	if c.Kind != Permission {
		return
	}
	for _, p := range paths {
		if led, above := c.above(p); above {
			c.Exact = append(c.Exact, filepath.ToSlash(led))
		}
		if filepath.IsAbs(p) || c.Dir == "" {
			p = filepath.Clean(p)
		} else {
			p = filepath.Join(c.Dir, p)
		}
		if rel, err := filepath.Rel(c.Dir, p); err == nil && filepath.IsLocal(rel) {
			p = rel
		}
		c.Exact = append(c.Exact, filepath.ToSlash(p))
	}
}

// above returns where the system finds a path with .. after a symbolic link, which is above the link's target and not where
// the path's shortest form is. It reports whether that differs.
func (c *Call) above(path string) (led string, differs bool) {
	if c.Dir != "" && !filepath.IsAbs(path) {
		path = c.Dir + string(filepath.Separator) + path
	}
	led, _ = resolved(path)
	short, _ := resolved(filepath.Clean(path))
	return led, led != short
}

// tail returns the name of a server's tool without the prefix of the client.
func tail(tool string) string {
	if i := strings.LastIndex(tool, "__"); i >= 0 {
		return tool[i+2:]
	}
	return tool
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" && len(t) <= maxPath {
			return t
		}
	}
	return ""
}

// firstWord returns the name of the program that a command runs, without assignments before it, which may be secrets.
func firstWord(line string) string {
	for word := range strings.FieldsSeq(line) {
		name, _, assigns := strings.Cut(word, "=")
		if assigns && !strings.ContainsAny(name, "/\"'$") {
			if strings.ContainsAny(word, "\"'`$(") {
				return "" // where the value ends is the shell's to say
			}
			continue
		}
		if strings.ContainsFunc(word, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-+/~", r)
		}) {
			return ""
		}
		return short(filepath.Base(word), 40)
	}
	return ""
}

// PatchPaths returns the files that a patch of apply_patch changes, and whether these are all of them: not those with too
// long a path, and no more than maxPaths.
func PatchPaths(patch string) (out []string, all bool) {
	all = true
	seen := map[string]bool{}
	for line := range strings.Lines(patch) {
		for _, mark := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			name, ok := strings.CutPrefix(line, mark)
			name = strings.TrimRight(name, "\r\n")
			switch {
			case !ok || name == "" || seen[name]:
			case len(name) > maxPath || len(out) == maxPaths:
				all = false
			default:
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out, all
}

// Relative returns a path as seen from a directory, or the last part of one that is not below it, which says less about
// the machine.
func Relative(dir, path string) string {
	if !filepath.IsAbs(path) {
		return filepath.ToSlash(path)
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return filepath.Base(path)
	}
	return filepath.ToSlash(rel)
}
