package stdio

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"

	"github.com/mark3labs/mcp-go/mcp"

	"parley.internal/shared/fault"
)

// reply is the part of a server's message that the bridge reads.
type reply struct {
	RPC    string          `json:"jsonrpc"`
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

const tooLong = "the server's answer exceeds 64 MiB; ask for less"

// receive passes on the messages of an HTTP response. It returns a failure if the response does not answer the request.
func (r *run) receive(req *request, res *http.Response) *failure {
	if session := res.Header.Get(mcp.HeaderSessionID); session != "" || req.method == string(mcp.MethodInitialize) {
		r.mu.Lock()
		r.session = session
		r.mu.Unlock()
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if res.StatusCode == http.StatusOK && kind == "text/event-stream" {
		return r.stream(req, res.Body)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return &failure{text: "the answer was interrupted: " + err.Error(), code: codeUnreachable, temporary: true}
	}
	if len(body) > maxAnswer {
		return &failure{text: tooLong, code: codeUnreachable}
	}
	if unavailable(res.StatusCode) || res.StatusCode == http.StatusUnauthorized {
		return r.refused(res, body)
	}
	if req.id == nil {
		if res.StatusCode >= http.StatusMultipleChoices {
			return r.refused(res, body)
		}
		return nil
	}
	if line, answers := r.parse(req, body); answers {
		r.pass(req, line, true)
		return nil
	}
	if res.StatusCode < http.StatusMultipleChoices {
		return &failure{text: fmt.Sprintf("%s answered %s with no MCP message in it; "+
			"is it the URL of an MCP endpoint, like %s/mcp?", r.url, res.Status, r.origin), code: codeUnreachable}
	}
	return r.refused(res, body)
}

// pass writes a message of the server to the client, or gives it to the hook that made the request.
func (r *run) pass(req *request, line []byte, answers bool) {
	switch {
	case req.own == nil && answers:
		r.emit(req.ctx, r.hooked(req, line))
	case req.own == nil:
		r.emit(req.ctx, line)
	case answers:
		req.own(line)
	}
}

// unavailable reports whether the status is that of a server, or of a proxy in front of it, that cannot answer now.
func unavailable(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable ||
		status == http.StatusGatewayTimeout
}

// refused describes a response that does not answer the request.
func (r *run) refused(res *http.Response, body []byte) *failure {
	t := &failure{code: codeUnreachable, temporary: unavailable(res.StatusCode)}
	var said struct {
		Error struct {
			Code    json.RawMessage `json:"code"`
			Message string          `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal(body, &said) // a body of another form has no message
	why := res.Status
	if said.Error.Message != "" {
		why += ": " + said.Error.Message
	}
	switch {
	case t.temporary:
		t.text = why
		// Tools return faults with the status 200, so this one was returned before the tool was called.
		t.unsent = string(said.Error.Code) == `"`+fault.Unavailable.Code()+`"`
	case res.StatusCode == http.StatusUnauthorized && r.Key == "":
		t.text = fmt.Sprintf("%s needs a key: set %s to one that `parley key create` made, and start the client again",
			r.url, r.KeyEnv)
	case res.StatusCode == http.StatusUnauthorized:
		t.text = fmt.Sprintf("%s refuses the key in %s (%s): "+
			"set %s to one that `parley key create` made for this server, and start the client again",
			r.url, r.KeyEnv, why, r.KeyEnv)
	case res.Header.Get("Location") != "":
		t.text = fmt.Sprintf("%s answered %s, a redirect; give the bridge the URL that it points to", r.url, why)
	case res.Header.Get("Retry-After") != "":
		t.text = fmt.Sprintf("%s answered %s (try again after %s s)", r.url, why, res.Header.Get("Retry-After"))
	default:
		t.text = fmt.Sprintf("%s answered %s", r.url, why)
	}
	return t
}

// parse returns a message of the server as a line, nil if text is none, and reports whether it answers the request. An
// error for a message that the server could not parse has no ID; it gets the ID of the request.
func (r *run) parse(req *request, text []byte) (line []byte, answers bool) {
	var m reply
	var flat bytes.Buffer
	if json.Unmarshal(text, &m) != nil || json.Compact(&flat, text) != nil || m.RPC != mcp.JSONRPC_VERSION ||
		(m.Method == "" && m.Result == nil && m.Error == nil) {
		return nil, false
	}
	if m.Method != "" || req.id == nil {
		return flat.Bytes(), false
	}
	if m.Error != nil && (len(m.ID) == 0 || string(m.ID) == "null") {
		var fields map[string]json.RawMessage
		if json.Unmarshal(text, &fields) != nil {
			return nil, false
		}
		fields["id"] = req.id
		line, err := json.Marshal(fields)
		return line, err == nil
	}
	if !sameJSON(m.ID, req.id) {
		return flat.Bytes(), false
	}
	r.keepVersion(req, m.Result)
	return flat.Bytes(), true
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return bytes.Equal(a, b) || (json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil &&
		reflect.DeepEqual(x, y))
}

// stream passes on the messages of an event stream up to the answer to the request, or to the end of the stream if none
// of them is the answer.
func (r *run) stream(req *request, body io.Reader) *failure {
	in := bufio.NewScanner(body)
	in.Buffer(make([]byte, 0, 64<<10), maxAnswer)
	var data []byte
	event := func() (answers bool) {
		line, answers := r.parse(req, data)
		if line != nil {
			r.pass(req, line, answers)
		}
		data = nil
		return answers
	}
	for in.Scan() {
		value, ok := bytes.CutPrefix(in.Bytes(), []byte("data:"))
		switch {
		case ok:
			data = append(append(data, value...), '\n')
		case len(in.Bytes()) == 0 && event():
			return nil
		}
		if len(data) > maxAnswer {
			return &failure{text: tooLong, code: codeUnreachable}
		}
	}
	switch err := in.Err(); {
	case event():
	case errors.Is(err, bufio.ErrTooLong):
		return &failure{text: tooLong, code: codeUnreachable}
	case err != nil:
		return &failure{text: "the stream was interrupted: " + err.Error(), code: codeUnreachable, temporary: true}
	case req.id != nil:
		return &failure{text: "the stream ended without an answer", code: codeUnreachable, temporary: true}
	}
	return nil
}
