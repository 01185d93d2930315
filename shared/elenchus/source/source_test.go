package source

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTheImportsOfAScriptAreFound(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		`import a from "./a"`: "./a",
		`import './side'`:     "./side",
		`import {a, b as c} from './a'; import * as d from "d"`:                "./a d",
		"import {\n  a,\n  b, // from './no'\n} from './multi'\n":              "./multi",
		`import type { T } from './types'`:                                     "./types",
		`import d, {type T} from './types'`:                                    "./types",
		`export * from './x'; export {y} from "./y"; export * as z from './z'`: "./x ./y ./z",
		`export type { T } from './t'`:                                         "./t",
		`const a = require('./r')`:                                             "./r",
		`import fs = require("./fs")`:                                          "./fs",
		`const m = await import('./dyn')`:                                      "./dyn",
		"const m = await import(`./dyn`)":                                      "./dyn",
		"const m = await import(`./${name}`)":                                  "",
		`type X = import("./x").X`:                                             "./x",
		`// import a from './no'`:                                              "",
		`/* import a from './no' */ import b from './yes'`:                     "./yes",
		`const s = "import a from './no'"`:                                     "",
		"const s = `import a from './no' ${require('./in')} './no'`":           "./in",
		"const s = `${`${require('./deep')}`}`; require('./after')":            "./deep ./after",
		"const s = `${ {a: {b: 1}} } require('./no')`; require('./yes')":       "./yes",
		`const r = /require('.\/no')/; require('./yes')`:                       "./yes",
		`const r = /[/'"]/; import a from './yes'`:                             "./yes",
		`x = a / b; y = c / require('./d')`:                                    "./d",
		`obj.require('./no'); obj.import('./no')`:                              "",
		`require.resolve('./no'); import.meta.url`:                             "",
		`export const from = './no'`:                                           "",
		`export default './no'`:                                                "",
		`export function f() { return './no' }`:                                "",
		"const x = <p>Don't import from './no'</p>\nimport a from './yes'":     "./yes",
		`import("./a", {with: {type: "json"}})`:                                "./a",
		`import data from "./d.json" with { type: "json" }`:                    "./d.json",
		`import {"odd name" as a} from './odd'`:                                "./odd",
		`import {a} from`:                                                      "",
		`import 'unclosed`:                                                     "",
		`const importer = 1; requires('./no')`:                                 "",
		"#!/usr/bin/env node\nimport a from './a'":                             "./a",
	} {
		if got := strings.Join(scriptImports(code), " "); got != want {
			t.Errorf("%s\n got %s\nwant %s", code, got, want)
		}
	}
}

func TestTheImportsOfAPythonFileAreFound(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"import a":                "0 a",
		"import a.b.c as d, e":    "0 a.b.c|0 e",
		"from a.b import c":       "0 a.b c",
		"from . import x, y as z": "1  x y",
		"from .x import y":        "1 x y",
		"from.x import y":         "1 x y",
		"from ...pkg.mod import (\n  a,  # one\n  b as c,\n)": "3 pkg.mod a b",
		"from a import *":    "0 a",
		"import a; import b": "0 a|0 b",
		"try:\n    import a\nexcept ImportError:\n\tfrom . import b\n": "0 a|1  b",
		"if x: import a":                     "0 a",
		"import a, \\\n  b":                  "0 a|0 b",
		"# import a":                         "",
		"s = 'import a'":                     "",
		"\"\"\"\nimport a\n\"\"\"\nimport b": "0 b",
		"s = '''it's\nimport a'''\nimport b": "0 b",
		"s = 'it\\'s'; import b":             "0 b",
		"s = 'unclosed\nimport b":            "0 b",
		"important = 1\nfrom_ = 2":           "",
		"x = [\n'import a',\n]\nimport b":    "0 b",
		"yield from x\nraise E from None":    "",
		"import":                             "",
		"from x import":                      "",
		"from import import":                 "",
		"import a/b":                         "",
	} {
		var list []string
		for _, i := range pythonImports(code) {
			list = append(list,
				strings.TrimSpace(fmt.Sprintf("%d %s %s", i.level, i.module, strings.Join(i.names, " "))))
		}
		if got := strings.Join(list, "|"); got != want {
			t.Errorf("%q\n got %s\nwant %s", code, got, want)
		}
	}
}

// line returns references on one line, local ones with !, directories with a slash.
func line(list []Reference) string {
	var out []string
	for _, w := range list {
		s := strings.Join(w.Paths, ",")
		if w.IsDir {
			s = w.Dir + "/"
		}
		if w.Local {
			s += "!"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestImportsAreResolvedInsideTheWorkingDirectory(t *testing.T) {
	t.Parallel()
	mods := []Module{{"", "example.com/app"}, {"tools", "example.com/app/tools"}}
	for _, c := range []struct{ from, code, want string }{
		{"src/a.ts", `import './b'`, "src/b.ts,src/b.tsx,src/b/index.ts,src/b.js!"},
		{"src/a.js", `require('../b')`, "b.js,b.jsx,b/index.js,b.ts!"},
		{"src/a.ts", `import './b.js'`, "src/b.ts,src/b.js!"},
		{"src/a.mjs", `import './b.mjs'`, "src/b.mjs,src/b.mts!"},
		{"src/a.ts", `import './b.json'; import './auth.service'`,
			"src/b.json! src/auth.service.ts,src/auth.service.tsx,src/auth.service/index.ts,src/auth.service.js!"},
		{"src/a.ts", `import '.'; import './d/'; import '..'`,
			"src/index.ts,src/index.tsx,src/index.js! src/d/index.ts,src/d/index.tsx,src/d/index.js! " +
				"index.ts,index.tsx,index.js!"},
		{"src/a.ts", `import 'react'; import '../../out'; import '/abs'; import '@/alias'; import './b?raw'`,
			"src/b.ts,src/b.tsx,src/b/index.ts,src/b.js!"},
		{"cmd/m.go",
			`package m; import ("fmt"; "example.com/app/auth"; x "example.com/app/tools/y"; ` +
				`"example.com/application/no"; "example.com/app")`,
			"auth/! tools/y/! /!"},
		{"tools/m.go", `package m; import ("example.com/app/tools/y"; "example.com/app/auth")`, "tools/y/!"},
		{"cmd/m.go", `package m; import "example.com/app/../../etc"`, ""},
		{"cmd/m.go", `package m; import "example.com/app/a"; func broken( {`, "a/!"},
		{"app/auth/login.py", "from . import b, c", "app/auth/b.py,app/auth/b/__init__.py! " +
			"app/auth/c.py,app/auth/c/__init__.py!"},
		{"app/auth/login.py", "from ..db.orm import q", "app/db/orm.py,app/db/orm/__init__.py!"},
		{"app/auth/login.py", "from ....db import q", ""},
		{"app/auth/login.py", "import app.db", "app/db.py,app/db/__init__.py!"},
		{"app/auth/login.py", "import auth.db", "app/auth/db.py,app/auth/db/__init__.py!"},
		{"app/login.py", "import os", "app/os.py,app/os/__init__.py os.py,os/__init__.py"},
		{"login.py", "import util", "util.py,util/__init__.py"},
		{"a.rs", "use crate::b", ""},
	} {
		if got := line(Imports(c.from, c.code, mods)); got != c.want {
			t.Errorf("%s %s\n got %s\nwant %s", c.from, c.code, got, c.want)
		}
	}
	if got := line(Imports("cmd/m.go", `package m; import ("fmt"; "a.com/b"; "a.com/c")`, nil)); got != "go.mod!" {
		t.Errorf("without a go.mod: %s", got)
	}
	if got := line(Imports("cmd/m.go", `package m; import "net/http"`, nil)); got != "" {
		t.Errorf("the standard library alone: %s", got)
	}
	for mod, want := range map[string]string{
		"// a\nmodule example.com/x // y\n\ngo 1.26\n": "example.com/x", "module \"example.com/y\"\n": "example.com/y",
		"go 1.26": "", "module a b": "",
	} {
		if got := ModulePath(mod); got != want {
			t.Errorf("%q: %s", mod, got)
		}
	}
}

func TestFilesNamedInATextAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"see src/auth.ts:42 and `lib/db.go:7:3`.":             "src/auth.ts lib/db.go",
		"auth.go:12 is wrong, auth.go too":                    "auth.go",
		"Node.js and vue.js are no files, nor is e.g. this":   "",
		"in src/auth.ts, (see lib/db.go) [src/x.py:3]":        "src/auth.ts lib/db.go src/x.py",
		"/home/u/app/src/auth.ts:42":                          "src/auth.ts",
		"/home/u/apple/src/auth.ts:42 and /etc/passwd.conf:1": "",
		"../up.go:1 a/../../b.go:2 a/../c.go:3":               "",
		`C:\src\a.ts:1 src\b.ts:2 C:/src/a.ts:3`:              "",
		"https://example.com/a/b.ts:10 http://h/x.js":         "",
		"localhost:8080 example.com:443 10:30":                "",
		"./src/a.ts:1 src//b.ts:2 src/a.ts:9":                 "src/a.ts src/b.ts",
		"app/[id]/page.tsx:3":                                 "app/[id]/page.tsx",
		"données/été.py:3":                                    "données/été.py",
		"a/b.exe:1 a/b.png a/b":                               "",
		"~/secret.env:1":                                      "",
		"a/\x00b.go:1":                                        "",
	} {
		want := strings.Fields(want)
		if text == "a/\x00b.go:1" {
			want = []string{"b.go"} // A control character separates words.
		}
		if got := Named(text, "/home/u/app/"); !slices.Equal(got, want) {
			t.Errorf("%s\n got %q\nwant %q", text, got, want)
		}
	}
	var many strings.Builder
	for i := range 80 {
		fmt.Fprintf(&many, "a/f%d.go ", i)
	}
	if got := Named(many.String(), "/"); len(got) != maxNamed || got[0] != "a/f0.go" {
		t.Errorf("%d names", len(got))
	}
}

func TestCodeFencesNameFilesAndImports(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"```ts\nimport './b'\n```":                                           "b.ts,b.tsx,b/index.ts,b.js!",
		"```ts:src/a.ts\nimport './b.json'\n```":                             "src/a.ts! src/b.json!",
		"```tsx title=\"src/a.tsx\"\nimport './b.json'\n```":                 "src/a.tsx! src/b.json!",
		"```12:20:src/a.ts\nimport './b.json'\n```":                          "src/a.ts! src/b.json!",
		"```js\n// src/a.js\nimport './b.json'\n```":                         "src/a.js! src/b.json!",
		"```python\n# app/m.py\nfrom . import x\n":                           "app/m.py! app/x.py,app/x/__init__.py!",
		"~~~go\npackage a\nimport \"example.com/app/x\"\n~~~":                "x/!",
		"````md\n```ts\nimport './no.json'\n```\n````\n":                     "",
		"```\nimport './no.json'\n```":                                       "",
		"```ts\nimport './b.json'\n```\ntext\n```ts\nimport './c.json'\n```": "b.json! c.json!",
	} {
		got := line(References(text, "/w", []Module{{"", "example.com/app"}}))
		if got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestARefusedPathHasAReason(t *testing.T) {
	t.Parallel()
	for p, why := range map[string]string{
		"": "must not be empty", "/a": "must be relative to the working directory",
		"~/a": "must be relative to the working directory", "C:/a": "must be relative to the working directory",
		"../a": "must not leave the working directory", "a/..": "must not leave the working directory",
		"a/../b": "must not leave the working directory",
		`a\b`:    `must use / as separator, not \`, "a\x00": "must be text without control characters",
		"a\n": "must be text without control characters", "\xff": "must be text without control characters",
		".": "must name a file", "a/": "must name a file", strings.Repeat("x", 301): "must be at most 300 characters",
		"a": "", "./a": "", "a//b": "", "a/./b": "", "..a": "", "a..b/c": "", ".env": "", strings.Repeat("é", 300): "",
	} {
		if clean, got := Clean(p); got != why || (clean == "") != (why != "") {
			t.Errorf("%q: %q, %q", p, clean, got)
		}
	}
}

// safe returns the reason why a path found in a text is not safe, or "".
func safe(p string) string {
	clean, why := Clean(p)
	switch {
	case why != "":
		return why
	case clean != p || strings.HasPrefix(p, "/") || strings.Contains(p, "..") &&
		slices.Contains(strings.Split(p, "/"), "..") || !utf8.ValidString(p):
		return "is not clean"
	}
	return ""
}

// No text yields a path outside the working directory.
func FuzzATextNamesNothingOutside(f *testing.F) {
	for _, s := range []string{
		"src/a.ts:1 ../b.go:2", "```ts:src/a.ts\nimport '../../b'\n```", "```py\nfrom ....x import y\n```",
		"/w/../etc/x.conf:1", `..\a.go:1`, "```go\nimport \"m/../../x\"\n```",
		"`${`${`", "import{", "'\\", "/*", "\"\"\"", "```\n~~~", "/[/", "[a/b.go:1]", "\xff/a.go:1",
	} {
		f.Add(s, "/w")
		f.Add(s, "")
	}
	f.Fuzz(func(t *testing.T, text, dir string) {
		references := References(text, dir, []Module{{"", "m"}, {"sub", "m/sub"}})
		for _, from := range []string{"src/a.ts", "src/a.py", "sub/a.go", "a.js"} {
			references = append(references, Imports(from, text, []Module{{"", "m"}, {"sub", "m/sub"}})...)
		}
		for _, w := range references {
			for _, p := range w.Paths {
				if why := safe(p); why != "" {
					t.Fatalf("%q names %q: %s", text, p, why)
				}
			}
			if w.IsDir && w.Dir != "" && safe(w.Dir) != "" {
				t.Fatalf("%q names the directory %q", text, w.Dir)
			}
		}
	})
}
