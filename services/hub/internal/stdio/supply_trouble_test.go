package stdio_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/internal/stdio"
)

// wanting is an answer of a start that wants files.
func wanting(files ...string) string {
	text, _ := json.Marshal(map[string]any{"sessionId": "s", "filesWanted": files, "context": map[string]any{"filesCollected": 0}})
	quoted, _ := json.Marshal(string(text))
	return fmt.Sprintf(`{"content":[{"type":"text","text":%s},{"type":"text","text":"Note: n"}],"structuredContent":%s}`, quoted, text)
}

func tooled(p post) string {
	var m struct{ Params struct{ Name string } }
	_ = json.Unmarshal([]byte(p.body), &m)
	return m.Params.Name
}

func begin(id int, dir string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"elenchus_start_session","arguments":{"workingDir":%q}}}`, id, dir)
}

const added = `{"content":[],"structuredContent":{"added":1,"filesWanted":[]}}`

func TestAServerGetsNothingFromOutsideByAskingForIt(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"app/a.ts": "", "beside.ts": outside})
	link(t, root, "app/link.ts")
	plant(t, filepath.Dir(root), map[string]string{"pkg/p.go": outside})
	h := serve(t, func(_ int, p post, w http.ResponseWriter, _ *http.Request) {
		if tooled(p) == "elenchus_add_files" {
			reply(w, p, `{"content":[],"structuredContent":{"added":1,"filesWanted":["../../pkg/*.go","../beside.ts"]}}`)
			return
		}
		reply(w, p, wanting("a.ts", "link.ts", "../beside.ts", "../../outside.ts", filepath.Join(root, "beside.ts"), "x/../../beside.ts", "", "../*.go"))
	})
	c := dial(t, h.mcp(), func(b *stdio.Bridge, _ *client) { b.Workspace = allowed(t, root) })
	c.send(strings.Replace(begin(1, filepath.Join(root, "app")), `"params":{`, `"params":{"_meta":{"progressToken":5,"traceparent":"x"},`, 1))
	contains(t, c.next(), `"filesCollected":1`, "Note: n", "../../pkg/*.go", "../../outside.ts")
	c.ends()
	posts := h.got()
	if len(posts) != 2 {
		t.Errorf("%d POSTs", len(posts))
	}
	for _, p := range posts {
		if strings.Contains(p.body, outside) {
			t.Errorf("it got %s", p.body)
		}
	}
	if id := string(posts[1].id); id == string(posts[0].id) || !strings.HasPrefix(id, `"parley-stdio-`) {
		t.Errorf("the bridge's own call has the id %s", id)
	}
	if b := posts[1].body; strings.Contains(b, "progressToken") || !strings.Contains(b, "traceparent") {
		t.Errorf("the bridge's own call is %s", b)
	}
}

func TestAnAnswerStaysAsItIsWhereAddingFails(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a.ts": ""})
	for name, fail := range map[string]func(p post, w http.ResponseWriter){
		"full": func(p post, w http.ResponseWriter) {
			reply(w, p, `{"isError":true,"content":[{"type":"text","text":"it is full"}]}`)
		},
		"no such tool": func(p post, w http.ResponseWriter) {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such tool"}}`, p.id)
		},
		"502":                func(_ post, w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
		"EOF":                func(_ post, w http.ResponseWriter) { hangUp(w) },
		"nothing to go on":   func(p post, w http.ResponseWriter) { reply(w, p, `{"content":[]}`) },
		"cannot be read":     func(p post, w http.ResponseWriter) { reply(w, p, `{"structuredContent":{"added":"x"}}`) },
		"how many files":     func(p post, w http.ResponseWriter) { reply(w, p, added) },
		"content cannot be ": func(p post, w http.ResponseWriter) { reply(w, p, added) },
	} {
		first := wanting("a.ts")
		switch name {
		case "how many files":
			first = `{"content":[],"structuredContent":{"sessionId":"s","filesWanted":["a.ts"]}}`
		case "content cannot be ":
			first = `{"content":5,"structuredContent":{"sessionId":"s","filesWanted":["a.ts"],"context":{"filesCollected":0}}}`
		}
		h := serve(t, func(_ int, p post, w http.ResponseWriter, _ *http.Request) {
			if tooled(p) == "elenchus_add_files" {
				fail(p, w)
				return
			}
			reply(w, p, first)
		})
		c := dial(t, h.mcp(), func(b *stdio.Bridge, _ *client) { b.Workspace = allowed(t, root) })
		c.send(begin(1, root))
		if got, want := c.next(), `{"jsonrpc":"2.0","id":1,"result":`+first+"}"; got != want {
			t.Errorf("%s: got %s", name, got)
		}
		c.ends()
		contains(t, c.troubles(), "was not given the files", name)
		if len(h.got()) != 2 || len(c.naps()) != 0 {
			t.Errorf("%s: %d POSTs", name, len(h.got()))
		}
	}
}

func TestWhatWantsNothingIsPassedOn(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a.ts": ""})
	for name, result := range map[string]string{
		"elenchus_start_session": `{"structuredContent":{"sessionId":"s","filesWanted":[]}}`,
		"elenchus_submit_round":  `{"isError":true,"structuredContent":{"sessionId":"s","filesWanted":["a.ts"]}}`,
		"elenchus_add_files":     wanting("a.ts"),
		"elenchus_get_context":   wanting("a.ts"),
	} {
		h := serve(t, func(_ int, p post, w http.ResponseWriter, _ *http.Request) { reply(w, p, result) })
		c := dial(t, h.mcp(), func(b *stdio.Bridge, _ *client) { b.Workspace = allowed(t, root) })
		c.send(strings.Replace(begin(1, root), "elenchus_start_session", name, 1))
		if got, want := c.next(), `{"jsonrpc":"2.0","id":1,"result":`+result+"}"; got != want {
			t.Errorf("%s: got %s", name, got)
		}
		c.ends()
		if len(h.got()) != 1 {
			t.Errorf("%s: %d POSTs", name, len(h.got()))
		}
	}
}

func TestAServerThatWantsWithoutEndIsLeftAfterThreeTimes(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"f1.ts": "", "f2.ts": "", "f3.ts": "", "f4.ts": "", "p/p.go": ""})
	h := serve(t, func(n int, p post, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			reply(w, p, wanting("f1.ts", "p/*.go"))
			return
		}
		reply(w, p, fmt.Sprintf(`{"structuredContent":{"added":1,"filesWanted":["f1.ts","p/*.go","f%d.ts"]}}`, n))
	})
	c := dial(t, h.mcp(), func(b *stdio.Bridge, _ *client) { b.Workspace = allowed(t, root) })
	c.send(begin(1, root))
	contains(t, c.next(), `"filesCollected":3`, `"filesWanted":["f4.ts"]`)
	c.ends()
	if len(h.got()) != 4 {
		t.Errorf("%d POSTs", len(h.got()))
	}
}

func TestWhatAServerStreamsOfTheBridgesOwnCallsStaysHere(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a.ts": ""})
	h := serve(t, func(_ int, p post, w http.ResponseWriter, _ *http.Request) {
		result := added
		if tooled(p) == "elenchus_start_session" {
			result = wanting("a.ts")
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, `data: {"jsonrpc":"2.0","method":"of/%s"}`+"\n\n"+`data: {"jsonrpc":"2.0","id":%s,"result":%s}`+"\n\n", tooled(p), p.id, result)
	})
	c := dial(t, h.mcp(), func(b *stdio.Bridge, _ *client) { b.Workspace = allowed(t, root) })
	c.send(begin(1, root))
	contains(t, c.next(), "of/elenchus_start_session")
	contains(t, c.next(), `"filesCollected":1`, `"id":1`)
	c.ends()
}

func TestFilesGoInMessagesThatAServerTakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ files, size, messages int }{
		"by size":   {5, 250 << 10, 2},
		"by number": {60, 1, 2},
	} {
		files := map[string]string{"worst.ts": strings.Repeat("\x01", 250<<10)}
		wanted := []string{"worst.ts"}
		for i := range c.files {
			wanted = append(wanted, fmt.Sprintf("f%d.ts", i))
			files[wanted[i+1]] = strings.Repeat("<", c.size)
		}
		root := tree(t, files)
		h := serve(t, func(n int, p post, w http.ResponseWriter, _ *http.Request) {
			if len(p.body) > 1<<20 || strings.Count(p.body, `"path":`) > 50 {
				t.Errorf("%s: a message of %d bytes, with %d files", name, len(p.body), strings.Count(p.body, `"path":`))
			}
			switch tooled(p) {
			case "elenchus_submit_round":
				reply(w, p, fmt.Sprintf(`{"content":[],"structuredContent":{"sessionId":"s","filesWanted":["%s"],"newFilesDiscovered":["own.ts"]}}`, strings.Join(wanted, `","`)))
			case "elenchus_get_context":
				reply(w, p, `{"structuredContent":{}}`) // which means the root
			default:
				reply(w, p, fmt.Sprintf(`{"structuredContent":{"added":1,"intervention":{"type":"CONTEXT_EXPAND","reason":"%d"}}}`, n))
			}
		})
		bridge := dial(t, h.mcp(), func(b *stdio.Bridge, _ *client) { b.Workspace = allowed(t, root) })
		bridge.send(strings.Replace(begin(1, ""), "elenchus_start_session", "elenchus_submit_round", 1))
		all := `["own.ts","` + strings.Join(wanted[1:], `","`) + `"]`
		contains(t, bridge.next(), `"newFilesDiscovered":`+all, `"newContextFiles":`+all, `"contextExpanded":true`, `"filesWanted":["worst.ts"]`)
		contains(t, bridge.troubles(), `"worst.ts" is refused: it does not fit`)
		bridge.ends()
		if n := len(h.got()) - 2; n != c.messages {
			t.Errorf("%s: %d messages", name, n)
		}
	}
}

func TestOtherMessagesAreNotHeldUpByGiving(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a.ts": ""})
	adding, release := make(chan struct{}), make(chan struct{})
	h := serve(t, func(_ int, p post, w http.ResponseWriter, r *http.Request) {
		switch tooled(p) {
		case "elenchus_add_files":
			close(adding)
			select {
			case <-release:
			case <-r.Context().Done():
			}
			reply(w, p, added)
		case "elenchus_start_session":
			reply(w, p, wanting("a.ts"))
		default:
			reply(w, p, "{}")
		}
	})
	c := dial(t, h.mcp(), func(b *stdio.Bridge, _ *client) { b.Workspace = allowed(t, root) })
	c.send(begin(1, root))
	<-adding
	c.send(`{"id":2,"method":"ping"}`)
	if a := c.answer(); a.ID != float64(2) {
		t.Errorf("first came %v", a.ID)
	}
	close(release)
	if a := c.answer(); a.ID != float64(1) {
		t.Errorf("then came %v", a.ID)
	}
	c.ends()
}

func TestACancelledStartIsGivenNothingMore(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a.ts": ""})
	adding, gone := make(chan struct{}), make(chan struct{})
	h := serve(t, func(_ int, p post, w http.ResponseWriter, r *http.Request) {
		switch tooled(p) {
		case "elenchus_add_files":
			close(adding)
			<-r.Context().Done()
			close(gone)
		case "elenchus_start_session":
			reply(w, p, wanting("a.ts"))
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
	c := dial(t, h.mcp(), func(b *stdio.Bridge, _ *client) { b.Workspace = allowed(t, root) })
	c.send(begin(1, root))
	<-adding
	c.send(`{"method":"notifications/cancelled","params":{"requestId":1}}`)
	select {
	case <-gone:
	case <-time.After(patience):
		t.Fatal("the POST was held")
	}
	c.ends()
	if c.troubles() != "" {
		t.Errorf("the bridge said %q", c.troubles())
	}
}
