package supply_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley.internal/services/hub/internal/stdio"
	"parley.internal/services/hub/internal/stdio/stdiotest"
)

// wanting returns the result of a start that wants files.
func wanting(files ...string) string {
	text, _ := json.Marshal(map[string]any{"sessionId": "s", "filesWanted": files,
		"context": map[string]any{"filesCollected": 0}})
	quoted, _ := json.Marshal(string(text))
	return fmt.Sprintf(`{"content":[{"type":"text","text":%s},{"type":"text","text":"Note: n"}],`+
		`"structuredContent":%s}`, quoted, text)
}

func tooled(p stdiotest.Post) string {
	var m struct{ Params struct{ Name string } }
	_ = json.Unmarshal([]byte(p.Body), &m)
	return m.Params.Name
}

func begin(id int, dir string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call",`+
		`"params":{"name":"elenchus_start_session","arguments":{"workingDir":%q}}}`, id, dir)
}

func round(id int, session string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call",`+
		`"params":{"name":"elenchus_submit_round","arguments":{"sessionId":%q}}}`, id, session)
}

const added = `{"content":[],"structuredContent":{"added":1,"filesWanted":[]}}`

func TestAttackAServerThatAsksForFilesOutsideGetsNone(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"app/a.ts": "", "beside.ts": outside})
	link(t, root, "app/link.ts")
	writeFiles(t, filepath.Dir(root), map[string]string{"pkg/p.go": outside})
	h := stdiotest.Serve(t, func(_ int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
		if tooled(p) == "elenchus_add_files" {
			stdiotest.Reply(w, p, `{"content":[],"structuredContent":`+
				`{"added":1,"filesWanted":["../../pkg/*.go","../beside.ts"]}}`)
			return
		}
		stdiotest.Reply(w, p, wanting("a.ts", "link.ts", "../beside.ts", "../../outside.ts",
			filepath.Join(root, "beside.ts"), "x/../../beside.ts", "", "../*.go"))
	})
	c := stdiotest.Dial(t, h.MCP(), func(b *stdio.Bridge, _ *stdiotest.Client) { b.Hook = allowed(t, root) })
	c.Send(strings.Replace(begin(1, filepath.Join(root, "app")), `"params":{`,
		`"params":{"_meta":{"progressToken":5,"traceparent":"x"},`, 1))
	stdiotest.Contains(t, c.Next(), `"filesCollected":1`, "Note: n", "../../pkg/*.go", "../../outside.ts")
	c.Ends()
	posts := h.Posts()
	if len(posts) != 2 {
		t.Errorf("%d POSTs", len(posts))
	}
	for _, p := range posts {
		if strings.Contains(p.Body, outside) {
			t.Errorf("it got %s", p.Body)
		}
	}
	if id := string(posts[1].ID); id == string(posts[0].ID) || !strings.HasPrefix(id, `"parley-stdio-`) {
		t.Errorf("the bridge's own call has the id %s", id)
	}
	if b := posts[1].Body; strings.Contains(b, "progressToken") || !strings.Contains(b, "traceparent") {
		t.Errorf("the bridge's own call is %s", b)
	}
}

func TestAnAnswerIsUnchangedIfAddingFails(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a.ts": ""})
	for name, fail := range map[string]func(p stdiotest.Post, w http.ResponseWriter){
		"full": func(p stdiotest.Post, w http.ResponseWriter) {
			stdiotest.Reply(w, p, `{"isError":true,"content":[{"type":"text","text":"it is full"}]}`)
		},
		"no such tool": func(p stdiotest.Post, w http.ResponseWriter) {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such tool"}}`, p.ID)
		},
		"502": func(_ stdiotest.Post, w http.ResponseWriter) {
			w.WriteHeader(http.StatusBadGateway)
		},
		"EOF": func(_ stdiotest.Post, w http.ResponseWriter) { stdiotest.HangUp(w) },
		"has no structured content": func(p stdiotest.Post, w http.ResponseWriter) {
			stdiotest.Reply(w, p, `{"content":[]}`)
		},
		"cannot be read": func(p stdiotest.Post, w http.ResponseWriter) {
			stdiotest.Reply(w, p, `{"structuredContent":{"added":"x"}}`)
		},
		"no context.filesCollected": func(p stdiotest.Post, w http.ResponseWriter) { stdiotest.Reply(w, p, added) },
		"content cannot be read":    func(p stdiotest.Post, w http.ResponseWriter) { stdiotest.Reply(w, p, added) },
	} {
		first := wanting("a.ts")
		switch name {
		case "no context.filesCollected":
			first = `{"content":[],"structuredContent":{"sessionId":"s","filesWanted":["a.ts"]}}`
		case "content cannot be read":
			first = `{"content":5,"structuredContent":{"sessionId":"s","filesWanted":["a.ts"],"context":{"filesCollected":0}}}`
		}
		h := stdiotest.Serve(t, func(_ int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
			if tooled(p) == "elenchus_add_files" {
				fail(p, w)
				return
			}
			stdiotest.Reply(w, p, first)
		})
		c := stdiotest.Dial(t, h.MCP(), func(b *stdio.Bridge, _ *stdiotest.Client) { b.Hook = allowed(t, root) })
		c.Send(begin(1, root))
		if got, want := c.Next(), `{"jsonrpc":"2.0","id":1,"result":`+first+"}"; got != want {
			t.Errorf("%s: got %s", name, got)
		}
		c.Ends()
		words := "cannot send the files"
		if name == "content cannot be read" {
			words = "the answer is passed on unchanged" // the files were sent, but the answer cannot include them
		}
		stdiotest.Contains(t, c.Reports(), words, name)
		if len(h.Posts()) != 2 || len(c.Pauses()) != 0 {
			t.Errorf("%s: %d POSTs", name, len(h.Posts()))
		}
	}
}

func TestAResultThatWantsNoFilesIsPassedOn(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a.ts": ""})
	for name, result := range map[string]string{
		"elenchus_start_session": `{"structuredContent":{"sessionId":"s","filesWanted":[]}}`,
		"elenchus_submit_round":  `{"isError":true,"structuredContent":{"sessionId":"s","filesWanted":["a.ts"]}}`,
		"elenchus_add_files":     wanting("a.ts"),
		"elenchus_get_context":   wanting("a.ts"),
	} {
		h := stdiotest.Serve(t, func(_ int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
			stdiotest.Reply(w, p, result)
		})
		c := stdiotest.Dial(t, h.MCP(), func(b *stdio.Bridge, _ *stdiotest.Client) { b.Hook = allowed(t, root) })
		c.Send(strings.Replace(begin(1, root), "elenchus_start_session", name, 1))
		if got, want := c.Next(), `{"jsonrpc":"2.0","id":1,"result":`+result+"}"; got != want {
			t.Errorf("%s: got %s", name, got)
		}
		c.Ends()
		if len(h.Posts()) != 1 {
			t.Errorf("%s: %d POSTs", name, len(h.Posts()))
		}
	}
}

func TestAServerThatKeepsAskingIsAnsweredThreeTimes(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"f1.ts": "", "f2.ts": "", "f3.ts": "", "f4.ts": "", "p/p.go": ""})
	h := stdiotest.Serve(t, func(n int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			stdiotest.Reply(w, p, wanting("f1.ts", "p/*.go"))
			return
		}
		stdiotest.Reply(w, p, fmt.Sprintf(`{"structuredContent":{"added":1,"filesWanted":["f1.ts","p/*.go","f%d.ts"]}}`,
			n))
	})
	c := stdiotest.Dial(t, h.MCP(), func(b *stdio.Bridge, _ *stdiotest.Client) { b.Hook = allowed(t, root) })
	c.Send(begin(1, root))
	stdiotest.Contains(t, c.Next(), `"filesCollected":3`, `"filesWanted":["f4.ts"]`)
	c.Ends()
	if len(h.Posts()) != 4 {
		t.Errorf("%d POSTs", len(h.Posts()))
	}
}

func TestStreamedMessagesOfFollowUpCallsAreHiddenFromTheClient(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a.ts": ""})
	h := stdiotest.Serve(t, func(_ int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
		result := added
		if tooled(p) == "elenchus_start_session" {
			result = wanting("a.ts")
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, `data: {"jsonrpc":"2.0","method":"of/%s"}`+"\n\n"+
			`data: {"jsonrpc":"2.0","id":%s,"result":%s}`+"\n\n", tooled(p), p.ID, result)
	})
	c := stdiotest.Dial(t, h.MCP(), func(b *stdio.Bridge, _ *stdiotest.Client) { b.Hook = allowed(t, root) })
	c.Send(begin(1, root))
	stdiotest.Contains(t, c.Next(), "of/elenchus_start_session")
	stdiotest.Contains(t, c.Next(), `"filesCollected":1`, `"id":1`)
	c.Ends()
}

func TestFilesAreSentInMessagesWithinTheLimits(t *testing.T) {
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
		h := stdiotest.Serve(t, func(n int, p stdiotest.Post, w http.ResponseWriter, _ *http.Request) {
			if len(p.Body) > 1<<20 || strings.Count(p.Body, `"path":`) > 50 {
				t.Errorf("%s: a message of %d bytes, with %d files", name, len(p.Body),
					strings.Count(p.Body, `"path":`))
			}
			switch tooled(p) {
			case "elenchus_submit_round":
				stdiotest.Reply(w, p, fmt.Sprintf(`{"content":[],"structuredContent":{"sessionId":"s",`+
					`"filesWanted":["%s"],"newFilesDiscovered":["own.ts"]}}`, strings.Join(wanted, `","`)))
			case "elenchus_start_session":
				stdiotest.Reply(w, p, wanting())
			default:
				stdiotest.Reply(w, p, fmt.Sprintf(`{"structuredContent":{"added":1,`+
					`"intervention":{"type":"CONTEXT_EXPAND","reason":"%d"}}}`, n))
			}
		})
		bridge := stdiotest.Dial(t, h.MCP(), func(b *stdio.Bridge, _ *stdiotest.Client) { b.Hook = allowed(t, root) })
		bridge.Send(begin(1, root))
		_ = bridge.Next()
		bridge.Send(round(2, "s"))
		all := `["own.ts","` + strings.Join(wanted[1:], `","`) + `"]`
		stdiotest.Contains(t, bridge.Next(), `"newFilesDiscovered":`+all, `"newContextFiles":`+all,
			`"contextExpanded":true`, `"filesWanted":["worst.ts"]`)
		stdiotest.Contains(t, bridge.Reports(), `"worst.ts" is refused: it does not fit`)
		bridge.Ends()
		if n := len(h.Posts()) - 2; n != c.messages {
			t.Errorf("%s: %d messages", name, n)
		}
	}
}

func TestOtherMessagesPassWhileFilesAreSent(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a.ts": ""})
	adding, release := make(chan struct{}), make(chan struct{})
	h := stdiotest.Serve(t, func(_ int, p stdiotest.Post, w http.ResponseWriter, r *http.Request) {
		switch tooled(p) {
		case "elenchus_add_files":
			close(adding)
			select {
			case <-release:
			case <-r.Context().Done():
			}
			stdiotest.Reply(w, p, added)
		case "elenchus_start_session":
			stdiotest.Reply(w, p, wanting("a.ts"))
		default:
			stdiotest.Reply(w, p, "{}")
		}
	})
	c := stdiotest.Dial(t, h.MCP(), func(b *stdio.Bridge, _ *stdiotest.Client) { b.Hook = allowed(t, root) })
	c.Send(begin(1, root))
	<-adding
	c.Send(`{"id":2,"method":"ping"}`)
	if a := c.Answer(); a.ID != float64(2) {
		t.Errorf("first came %v", a.ID)
	}
	close(release)
	if a := c.Answer(); a.ID != float64(1) {
		t.Errorf("then came %v", a.ID)
	}
	c.Ends()
}

func TestACancelledStartGetsNoFurtherFiles(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a.ts": ""})
	adding, gone := make(chan struct{}), make(chan struct{})
	h := stdiotest.Serve(t, func(_ int, p stdiotest.Post, w http.ResponseWriter, r *http.Request) {
		switch tooled(p) {
		case "elenchus_add_files":
			close(adding)
			<-r.Context().Done()
			close(gone)
		case "elenchus_start_session":
			stdiotest.Reply(w, p, wanting("a.ts"))
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
	c := stdiotest.Dial(t, h.MCP(), func(b *stdio.Bridge, _ *stdiotest.Client) { b.Hook = allowed(t, root) })
	c.Send(begin(1, root))
	<-adding
	c.Send(`{"method":"notifications/cancelled","params":{"requestId":1}}`)
	select {
	case <-gone:
	case <-time.After(stdiotest.Patience):
		t.Fatal("the POST was held")
	}
	c.Ends()
	if said := c.Reports(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "gave ") {
		t.Errorf("the bridge said %q", said)
	}
}
